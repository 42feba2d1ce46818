// What addresses that prove nothing, which may be forged, leave in the memory of a server over UDP.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/support/coap_bench.h"

namespace seganet {
namespace {

using coap::CommandStart;
using coap::Limits;
using coap::Settings;
using coap_test::Bench;
using coap_test::Bytes;
using coap_test::Datagram;
using coap_test::kAck;
using coap_test::kCon;
using coap_test::kDeregister;
using coap_test::kGetCode;
using coap_test::kNon;
using coap_test::kPostCode;
using coap_test::kRegister;
using coap_test::ObserveBytes;
using coap_test::Options;
using coap_test::Path;
using coap_test::Read;

constexpr unsigned kFlood = 100'000;
constexpr size_t kMostBytes = 4 * 1024 * 1024;

Limits SmallLimits() {
  Limits limits;
  limits.max_observers = 1000;
  limits.max_peers = 1000;
  return limits;
}

// The device "good" still gets commands.
void ExpectCommandTaken(Bench* bench) {
  bench->TakeLog();
  ASSERT_EQ(bench->Command(1, "good", "cmd/good", "on"), CommandStart::kSent);
  const std::vector<Read> sent = bench->TakeSent();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].payload, "on");
  bench->Ask(Datagram(kAck, 0, sent[0].id), "good peer");
  EXPECT_EQ(bench->TakeLog(), "[command 1 0]");
}

TEST(CoapUnproved, RegistrationsOfManyDevicesTakeBoundedMemory) {
  Bench bench(Settings{}, SmallLimits());
  bench.Observe("cmd/good", "t", "good peer");
  for (unsigned i = 0; i < kFlood; ++i) {
    const std::string n = std::to_string(i);
    bench.Ask(ObserveBytes(i, "t", "cmd/d" + n, kRegister), "peer " + n);
    bench.TakeLog();
    if (i % 1000 == 0) ASSERT_LT(bench.server.memory_bytes(), kMostBytes);
  }
  EXPECT_LT(bench.server.memory_bytes(), kMostBytes);
  ExpectCommandTaken(&bench);
  bench.Wait(100);
  EXPECT_LE(bench.server.counters().lost_peers, 1000u);
}

TEST(CoapUnproved, RegistrationsForOneDeviceTakeBoundedMemory) {
  Bench bench(Settings{}, SmallLimits());
  bench.Observe("cmd/good", "t", "good peer");
  for (unsigned i = 0; i < kFlood; ++i) {
    bench.Ask(ObserveBytes(i, "t", "cmd/good", kRegister), "peer " + std::to_string(i));
    bench.TakeLog();
  }
  EXPECT_LT(bench.server.memory_bytes(), kMostBytes);
  ExpectCommandTaken(&bench);
}

TEST(CoapUnproved, RegistrationsThatEndAtOnceLeaveNothing) {
  Bench bench(Settings{}, SmallLimits());
  bench.Observe("cmd/good", "t", "good peer");
  for (unsigned i = 0; i < kFlood; ++i) {
    const std::string peer = "peer " + std::to_string(i);
    bench.Ask(ObserveBytes(i, "t", "cmd/dev", kRegister), peer);
    bench.Ask(ObserveBytes(i + 1, "t", "cmd/dev", kDeregister), peer);
    EXPECT_EQ(bench.TakeLog(), "[dev observes][dev left]");
  }
  EXPECT_LT(bench.server.memory_bytes(), kMostBytes);
  EXPECT_EQ(bench.server.NextDeadline(), INT64_MAX);
  ExpectCommandTaken(&bench);
}

TEST(CoapUnproved, ARenewedRegistrationLeavesOneMessage) {
  Bench bench;
  const std::vector<Read> first = bench.Ask(ObserveBytes(1, "t", "cmd/dev", kRegister));
  ASSERT_EQ(first.size(), 2u);
  const size_t before = bench.server.memory_bytes();
  for (unsigned i = 2; i < 200; ++i) {
    const std::vector<Read> sent = bench.Ask(ObserveBytes(i, "t", "cmd/dev", kRegister));
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].type, kAck);
  }
  EXPECT_EQ(bench.server.memory_bytes(), before);
  bench.Ask(Datagram(kAck, 0, first[1].id));
  EXPECT_EQ(bench.server.NextDeadline(), INT64_MAX);
  EXPECT_TRUE(bench.server.Listens("dev"));
  EXPECT_EQ(bench.Command(1, "dev", "cmd/dev", "x"), CommandStart::kSent);
  EXPECT_EQ(bench.TakeSent().size(), 1u);
}

// The command waits for the proof of the address, and is lost with it.
TEST(CoapUnproved, ADisplacedObserverLosesItsWaitingCommand) {
  for (const bool displaced : {true, false}) {
    Bench bench;
    bench.Ask(ObserveBytes(1, "t", "cmd/dev", kRegister), "first");
    ASSERT_EQ(bench.Command(7, "dev", "cmd/dev", "secret"), CommandStart::kSent);
    EXPECT_EQ(bench.TakeSent().size(), 0u);
    bench.TakeLog();
    if (displaced) {
      for (unsigned i = 0; i < 4; ++i) {
        bench.Ask(ObserveBytes(i, "t", "cmd/dev", kRegister), "peer " + std::to_string(i));
      }
      EXPECT_EQ(bench.TakeLog(),
                "[dev observes][dev observes][dev observes][command 7 1][dev observes]");
    } else {
      bench.Ask(ObserveBytes(2, "t", "cmd/dev", kDeregister), "first");
      EXPECT_EQ(bench.TakeLog(), "[dev left][command 7 1]");
    }
    for (const Read& read : bench.Wait(100)) EXPECT_NE(read.payload, "secret");
  }
}

TEST(CoapUnproved, OtherMessagesForThePeerOfADisplacedObserverAreSent) {
  Limits limits;
  limits.max_observers = 2;
  Bench bench(Settings{}, limits);
  const std::vector<Read> a = bench.Ask(ObserveBytes(1, "a", "cmd/a", kRegister), "shared");
  ASSERT_EQ(a.size(), 2u);
  EXPECT_EQ(bench.Ask(ObserveBytes(2, "b", "cmd/b", kRegister), "shared").size(), 1u);  // waits
  const std::vector<Read> sent = bench.Ask(ObserveBytes(3, "c", "cmd/c", kRegister), "other");
  EXPECT_EQ(bench.TakeLog(), "[a observes][b observes][a left][c observes]");
  unsigned id = 0;
  for (const Read& read : sent) {
    if (read.type == kCon && read.token == "b") id = read.id;
  }
  bench.Ask(Datagram(kAck, 0, a[1].id), "shared");  // too late for its registration
  EXPECT_FALSE(bench.server.Listens("a"));
  bench.Ask(Datagram(kAck, 0, id), "shared");
  ASSERT_EQ(bench.Command(1, "b", "cmd/b", "x"), CommandStart::kSent);
  EXPECT_EQ(bench.TakeSent().at(0).token, "b");
}

// Otherwise a few forged datagrams in each round trip would keep a device from its commands.
TEST(CoapUnproved, AnAckThatCrossesTheDisplacementProvesTheAddress) {
  Bench bench;
  const auto displace = [&bench] {
    for (unsigned i = 0; i < 4; ++i) {
      bench.Ask(ObserveBytes(i, "t", "cmd/dev", kRegister), "forged " + std::to_string(i));
    }
  };
  const std::vector<Read> sent = bench.Ask(ObserveBytes(1, "mine", "cmd/dev", kRegister), "device");
  ASSERT_EQ(sent.size(), 2u);
  displace();
  bench.Ask(Datagram(kAck, 0, sent[1].id + 1), "device");
  bench.Ask(Datagram(kAck, 0, sent[1].id), "device");
  const std::vector<Read> again =
      bench.Ask(ObserveBytes(2, "mine", "cmd/dev", kRegister), "device");
  ASSERT_EQ(again.size(), 1u) << "it is registered without another proof";
  EXPECT_EQ(again[0].dotted(), 205u);
  displace();
  bench.TakeSent();
  ASSERT_EQ(bench.Command(1, "dev", "cmd/dev", "on"), CommandStart::kSent);
  bool got = false;
  for (const Read& read : bench.TakeSent()) got |= read.token == "mine" && read.payload == "on";
  EXPECT_TRUE(got);
}

TEST(CoapUnproved, LateResponsesTakeBoundedMemory) {
  Limits limits = SmallLimits();
  limits.max_unacknowledged = 100;
  limits.max_exchanges = 100;
  Bench bench(Settings{}, limits);
  bench.Observe("cmd/good", "t", "good peer");
  bench.answer.copies = 1;
  unsigned n = 0;
  for (unsigned round = 0; round < 15; ++round) {
    bench.handles.clear();
    for (unsigned i = 0; i < 100; ++i, ++n) {
      bench.Ask(Datagram(kCon, kPostCode, n, "t", Path("r/dev"), "x"), "peer " + std::to_string(n));
    }
    bench.Wait(2);  // empty acknowledgements
    bench.TakeLog();
    for (const uint64_t handle : std::vector<uint64_t>(bench.handles)) {
      const std::vector<Read> sent = bench.Acknowledge(handle);
      ASSERT_EQ(sent.size(), 1u);
      EXPECT_EQ(sent[0].dotted(), 204u);
      EXPECT_EQ(sent[0].token, "t");
      // Above the limit it is sent once.
      EXPECT_EQ(sent[0].type, round == 0 ? kCon : kNon);
    }
  }
  ExpectCommandTaken(&bench);
  bench.Wait(100);
  EXPECT_EQ(bench.server.counters().lost_peers, 100u);
  EXPECT_EQ(bench.server.NextDeadline(), INT64_MAX);
}

}  // namespace
}  // namespace seganet
