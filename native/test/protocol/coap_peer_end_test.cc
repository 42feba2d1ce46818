// Peers that are sessions: proven addresses, one device each, and their end.
#include <gtest/gtest.h>

#include <string>

#include "test/support/coap_bench.h"

namespace seganet {
namespace {

using coap::CommandStart;
using coap::Settings;
using coap_test::Bench;
using coap_test::Bytes;
using coap_test::Datagram;
using coap_test::kAck;
using coap_test::kCon;
using coap_test::kGetCode;
using coap_test::kPostCode;
using coap_test::Options;
using coap_test::Path;

Bytes Register(unsigned id, std::string_view token, std::string_view path) {
  Options options{{6, ""}};
  for (const auto& segment : Path(path)) options.push_back(segment);
  return Datagram(kCon, kGetCode, id, token, options);
}

Settings Proven() {
  Settings settings;
  settings.proven_addresses = true;
  return settings;
}

TEST(CoapPeerEnd, ARegistrationFromAProvenAddressIsAnsweredAtOnce) {
  Bench bench(Proven());
  const auto sent = bench.Ask(Register(1, "t", "cmd/dev"));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].type, kAck);
  EXPECT_EQ(sent[0].dotted(), 205u);
}

TEST(CoapPeerEnd, EndsRegistrationsAndCommandsOfThePeer) {
  Bench bench(Proven());
  bench.Ask(Register(1, "t", "cmd/dev"), "gone");
  bench.Ask(Register(2, "u", "cmd/dev"), "gone");
  bench.Ask(Register(3, "t", "cmd/other"), "here");
  bench.TakeLog();
  EXPECT_EQ(bench.Command(7, "dev", "cmd/dev/x", "on"), CommandStart::kSent);
  bench.server.Forget(coap::Peer("gone", 4), "dev");
  EXPECT_EQ(bench.TakeLog(), "[dev left][command 7 1]");
  EXPECT_FALSE(bench.server.Listens("dev"));
  EXPECT_TRUE(bench.server.Listens("other"));
  bench.TakeSent();
  EXPECT_TRUE(bench.Wait(300).empty());
}

TEST(CoapPeerEnd, EndsRegistrationsOfAllDevicesOfAPeerWithoutAnId) {
  Bench bench(Proven());
  bench.Ask(Register(1, "t", "cmd/a"), "gone");
  bench.Ask(Register(2, "t", "cmd/b"), "gone");
  bench.Ask(Register(3, "t", "cmd/b"), "here");
  bench.TakeLog();
  bench.server.Forget(coap::Peer("gone", 4), "");
  EXPECT_EQ(bench.TakeLog(), "[a left]");
  EXPECT_TRUE(bench.server.Listens("b"));
  bench.server.Forget(coap::Peer("never seen", 10), "");
  EXPECT_EQ(bench.TakeLog(), "");
}

TEST(CoapPeerEnd, RetainsOnlyAcceptedObservers) {
  Bench bench(Proven());
  bench.Ask(Register(1, "t", "cmd/dev"), "gone");
  bench.Ask(Register(2, "t", "cmd/dev"), "here");
  bench.TakeLog();
  const auto keep = [](const coap::Peer& peer) { return peer.text() == "here"; };
  bench.server.Retain("dev", keep);
  EXPECT_TRUE(bench.server.Listens("dev"));
  EXPECT_EQ(bench.Command(7, "dev", "cmd/dev/x", "on"), CommandStart::kSent);
  EXPECT_EQ(bench.TakeSent().size(), 1u);
  bench.server.Retain("dev", [](const coap::Peer&) { return false; });
  EXPECT_FALSE(bench.server.Listens("dev"));
  EXPECT_EQ(bench.TakeLog(), "[dev left][command 7 1]");
}

class OneDevice : public Bench {
 public:
  using Bench::Bench;
  bool MayBe(std::string_view device) override { return device == "dev"; }
};

TEST(CoapPeerEnd, RefusesRequestsForADeviceThatThePeerCannotBe) {
  OneDevice bench(Proven());
  EXPECT_EQ(bench.Ask(Datagram(kCon, kPostCode, 1, "t", Path("r/other/x"))).at(0).dotted(), 403u);
  EXPECT_EQ(bench.Ask(Register(2, "t", "cmd/other")).at(0).dotted(), 403u);
  EXPECT_EQ(bench.TakeLog(), "");
  EXPECT_EQ(bench.Ask(Datagram(kCon, kPostCode, 3, "t", Path("r/dev/x"))).at(0).dotted(), 204u);
  EXPECT_EQ(bench.Ask(Datagram(kCon, kGetCode, 4, "t", Path(".well-known/core"))).at(0).dotted(),
            205u);
}

}  // namespace
}  // namespace seganet
