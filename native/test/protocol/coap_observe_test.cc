// Commands over UDP: observers, and notifications that are acknowledged, repeated, lost and reset.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "test/support/coap_bench.h"

namespace seganet {
namespace {

using coap::CommandStart;
using coap::Limits;
using coap::Settings;
using coap_test::Bench;
using coap_test::BlockValue;
using coap_test::Bytes;
using coap_test::Datagram;
using coap_test::kAck;
using coap_test::kCon;
using coap_test::kDeregister;
using coap_test::kGetCode;
using coap_test::kNon;
using coap_test::kPostCode;
using coap_test::kRegister;
using coap_test::kRst;
using coap_test::ObserveBytes;
using coap_test::Options;
using coap_test::Path;
using coap_test::Read;

TEST(CoapObserve, ARegistrationIsAnsweredSeparatelyUntilTheAddressIsProved) {
  Bench bench;
  auto sent = bench.Ask(ObserveBytes(1, "t", "cmd/dev", kRegister));
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].type, kAck);
  EXPECT_EQ(sent[0].code, 0u);
  EXPECT_EQ(sent[1].type, kCon);
  EXPECT_EQ(sent[1].dotted(), 205u);
  EXPECT_EQ(sent[1].token, "t");
  EXPECT_TRUE(sent[1].Has(6));
  EXPECT_EQ(bench.TakeLog(), "[dev observes]");
  EXPECT_TRUE(bench.server.Listens("dev"));
  EXPECT_FALSE(bench.server.Listens("de"));
  bench.Ask(Datagram(kAck, 0, sent[1].id));

  sent = bench.Ask(ObserveBytes(2, "t", "cmd/dev", kRegister));  // renewed, and proved now
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].type, kAck);
  EXPECT_EQ(sent[0].dotted(), 205u);
  EXPECT_EQ(bench.TakeLog(), "[dev observes]");
}

TEST(CoapObserve, ARegistrationWithoutAnAcknowledgementIsDropped) {
  Bench bench;
  bench.Ask(ObserveBytes(1, "t", "cmd/dev", kRegister));
  EXPECT_EQ(bench.Wait(100).size(), 4u);
  EXPECT_EQ(bench.TakeLog(), "[dev observes][dev left]");
  EXPECT_FALSE(bench.server.Listens("dev"));
  EXPECT_EQ(bench.server.counters().lost_peers, 1u);
}

TEST(CoapObserve, ACommandIsTakenWhenItsNotificationIsAcknowledged) {
  Bench bench;
  bench.Observe("cmd/dev", "tok");
  ASSERT_EQ(bench.Command(9, "dev", "cmd/dev/led", "on"), CommandStart::kSent);
  const auto sent = bench.TakeSent();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].type, kCon);
  EXPECT_EQ(sent[0].dotted(), 205u);
  EXPECT_EQ(sent[0].token, "tok");
  EXPECT_EQ(sent[0].payload, "on");
  EXPECT_TRUE(sent[0].Has(6));
  // Identifies one of its commands.
  Bytes location;
  for (const auto& [number, value] : sent[0].options) {
    if (number == 8) location += "/" + value;
  }
  EXPECT_EQ(location, "/cmd/dev/led");
  EXPECT_EQ(bench.Command(10, "dev", "cmd/dev/led", "off"), CommandStart::kBusy);
  EXPECT_EQ(bench.TakeLog(), "");
  bench.Ask(Datagram(kAck, 0, sent[0].id));
  EXPECT_EQ(bench.TakeLog(), "[command 9 0]");
  EXPECT_EQ(bench.Command(10, "dev", "cmd/dev/led", "off"), CommandStart::kSent);
}

TEST(CoapObserve, SequenceNumbersGrow) {
  Bench bench;
  bench.Observe("cmd/dev", "t");
  unsigned last = 0;
  for (unsigned i = 0; i < 50; ++i) {
    ASSERT_EQ(bench.Command(i, "dev", "cmd/dev", "x"), CommandStart::kSent);
    const auto sent = bench.TakeSent();
    EXPECT_GT(sent.at(0).Number(6), last);
    last = sent[0].Number(6);
    bench.Ask(Datagram(kAck, 0, sent[0].id));
  }
}

TEST(CoapObserve, AnObserverOfOneCommandGetsNoOther) {
  Bench bench;
  bench.Observe("cmd/dev/led", "t");
  EXPECT_EQ(bench.Command(1, "dev", "cmd/dev/fan", "on"), CommandStart::kNotListening);
  EXPECT_EQ(bench.Command(1, "other", "cmd/dev/led", "on"), CommandStart::kNotListening);
  ASSERT_EQ(bench.Command(1, "dev", "cmd/dev/led", "on"), CommandStart::kSent);
  EXPECT_FALSE(bench.TakeSent().at(0).Has(8));  // it is the resource that it observes
}

// RFC 7252 4.2: 2..3 s, then doubled each time, four times.
TEST(CoapObserve, ANotificationIsSentAgainAndGivenUp) {
  Bench bench;
  bench.Observe("cmd/dev", "t");
  const int64_t start = bench.now_us;
  ASSERT_EQ(bench.Command(1, "dev", "cmd/dev", "x"), CommandStart::kSent);
  const Bytes first = bench.sent.at(0).second;
  bench.TakeSent();
  std::vector<double> at;
  while (bench.TakeLog().empty()) {
    const size_t before = bench.sent.size();
    bench.now_us = bench.server.NextDeadline();
    bench.server.OnTime(bench.now_us);
    at.push_back(static_cast<double>(bench.now_us - start) / 1e6);
    EXPECT_TRUE(bench.sent.size() == before || bench.sent.back().second == first);
  }
  ASSERT_EQ(at.size(), 5u);
  EXPECT_GE(at[0], 2.0);
  EXPECT_LE(at[0], 3.0);
  EXPECT_NEAR(at[4], 31 * at[0], 0.01);
  EXPECT_EQ(bench.TakeSent().size(), 4u);
  EXPECT_FALSE(bench.server.Listens("dev"));
  EXPECT_EQ(bench.Command(2, "dev", "cmd/dev", "x"), CommandStart::kNotListening);
  EXPECT_EQ(bench.server.NextDeadline(), INT64_MAX);
}

TEST(CoapObserve, ReportsLostCommandsAndTheDeviceLeaving) {
  Bench bench;
  bench.Observe("cmd/dev", "t");
  bench.Command(1, "dev", "cmd/dev", "x");
  bench.Wait(100);
  EXPECT_EQ(bench.TakeLog(), "[dev left][command 1 1]");
}

TEST(CoapObserve, AResetEndsTheObservation) {
  Bench bench;
  bench.Observe("cmd/dev", "t");
  bench.Command(1, "dev", "cmd/dev", "x");
  bench.Ask(Datagram(kRst, 0, bench.TakeSent().at(0).id));
  EXPECT_EQ(bench.TakeLog(), "[dev left][command 1 2]");
  EXPECT_FALSE(bench.server.Listens("dev"));
}

TEST(CoapObserve, ADeregistrationEndsItAndAnswersAsAGet) {
  Bench bench;
  bench.Observe("cmd/dev", "t");
  const auto other = bench.Ask(ObserveBytes(2, "u", "cmd/dev", kDeregister));
  EXPECT_TRUE(bench.server.Listens("dev"));  // another token
  EXPECT_EQ(other.at(0).dotted(), 404u);
  bench.Ask(ObserveBytes(3, "t", "cmd/dev", kDeregister));
  EXPECT_EQ(bench.TakeLog(), "[dev left]");
  EXPECT_FALSE(bench.server.Listens("dev"));
}

TEST(CoapObserve, OneFarEndHasOneNotificationInFlight) {
  Bench bench;
  bench.Observe("cmd/a", "1");
  bench.Observe("cmd/b", "2");
  bench.Command(1, "a", "cmd/a", "x");
  bench.Command(2, "b", "cmd/b", "y");
  const auto first = bench.TakeSent();
  ASSERT_EQ(first.size(), 1u);
  const auto second = bench.Ask(Datagram(kAck, 0, first[0].id));
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].payload, "y");
  bench.Wait(100);
  EXPECT_EQ(bench.TakeLog(), "[command 1 0][b left][command 2 1]");
}

TEST(CoapObserve, TheFirstOfSeveralObserversTakesACommandForAll) {
  Bench bench;
  bench.Observe("cmd/dev", "t", "one");
  bench.Observe("cmd/dev/led", "t", "two");
  bench.Command(1, "dev", "cmd/dev/led", "x");
  const auto sent = bench.TakeSent();
  ASSERT_EQ(sent.size(), 2u);
  bench.Ask(Datagram(kRst, 0, sent[0].id), "one");
  EXPECT_EQ(bench.TakeLog(), "");  // the other may still take it
  bench.Ask(Datagram(kAck, 0, sent[1].id), "two");
  EXPECT_EQ(bench.TakeLog(), "[command 1 0]");
}

TEST(CoapObserve, AnAckOfAnotherFarEndDoesNotCount) {
  Bench bench;
  bench.Observe("cmd/dev", "t");
  bench.Command(1, "dev", "cmd/dev", "x");
  bench.Ask(Datagram(kAck, 0, bench.TakeSent().at(0).id), "other");
  EXPECT_EQ(bench.TakeLog(), "");
}

TEST(CoapObserve, AGetBringsTheLatestCommandAndARegistrationNone) {
  Bench bench;
  bench.Observe("cmd/dev", "t");
  bench.Command(1, "dev", "cmd/dev/led", "on");
  bench.Ask(Datagram(kAck, 0, bench.TakeSent().at(0).id));
  for (const char* path : {"cmd/dev", "cmd/dev/led"}) {
    const auto sent = bench.Ask(Datagram(kCon, kGetCode, bench.next_id++, "", Path(path)));
    EXPECT_EQ(sent.at(0).dotted(), 205u);
    EXPECT_EQ(sent[0].payload, "on");
    EXPECT_EQ(sent[0].Text(4).size(), 4u);
  }
  EXPECT_EQ(bench.Ask(Datagram(kCon, kGetCode, 5, "", Path("cmd/dev/fan"))).at(0).dotted(), 404u);
  EXPECT_EQ(bench.Ask(ObserveBytes(6, "t", "cmd/dev", kRegister)).at(0).payload, "");
}

// RFC 7959 2.6.
TEST(CoapObserve, ALargeCommandGoesInBlocksAndIsTakenWithItsLastOne) {
  for (const unsigned asked : {6u, 2u}) {
    Bench bench;
    const Options more = asked == 6 ? Options{} : Options{{23, BlockValue(0, false, asked)}};
    bench.Observe("cmd/dev", "t", "peer", more);
    Bytes body(5000, '\0');
    for (size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 7 >> 2);
    ASSERT_EQ(bench.Command(1, "dev", "cmd/dev", body), CommandStart::kSent);
    auto sent = bench.TakeSent();
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_LE(bench.raw[0].size(), 1152u);
    EXPECT_EQ(sent[0].Number(28), 5000u);
    const Bytes etag = sent[0].Text(4);
    Bytes got = sent[0].payload;
    unsigned value = sent[0].Number(23);
    EXPECT_EQ(value & 7, asked);
    bench.Ask(Datagram(kAck, 0, sent[0].id));
    while ((value & 8) != 0) {
      EXPECT_EQ(bench.TakeLog(), "");
      EXPECT_EQ(bench.Command(2, "dev", "cmd/dev", "y"), CommandStart::kBusy);
      sent =
          bench.Ask(Datagram(kCon, kGetCode, bench.next_id++, "n",
                             Path("cmd/dev", {{23, BlockValue((value >> 4) + 1, false, asked)}})));
      ASSERT_EQ(sent.at(0).dotted(), 205u);
      EXPECT_EQ(sent[0].Text(4), etag);
      got += sent[0].payload;
      value = sent[0].Number(23);
    }
    EXPECT_EQ(got, body);
    EXPECT_EQ(bench.TakeLog(), "[command 1 0]");
  }
}

TEST(CoapObserve, ABlockThatIsNotRequestedInTimeLosesTheCommand) {
  Bench bench;
  bench.Observe("cmd/dev", "t");
  bench.Command(1, "dev", "cmd/dev", Bytes(5000, 'x'));
  bench.Ask(Datagram(kAck, 0, bench.TakeSent().at(0).id));
  bench.Wait(92);
  bench.Ask(Datagram(kCon, kGetCode, 2, "", Path("cmd/dev", {{23, BlockValue(1, false, 6)}})));
  bench.Wait(92);
  EXPECT_EQ(bench.TakeLog(), "");
  bench.Wait(2);
  EXPECT_EQ(bench.TakeLog(), "[command 1 1]");
  EXPECT_TRUE(bench.server.Listens("dev"));
}

TEST(CoapObserve, ACommandThatDoesNotFitIsTooLarge) {
  Settings settings;
  settings.max_body_bytes = 4096;
  Bench bench(settings);
  bench.Observe("cmd/dev", "t");
  EXPECT_EQ(bench.Command(1, "dev", "cmd/dev", Bytes(4097, 'x')), CommandStart::kTooLarge);
  EXPECT_EQ(bench.Command(1, "dev", "cmd/dev/" + Bytes(256, 'x'), "x"), CommandStart::kTooLarge);
  Bytes deep = "cmd/dev";
  for (int i = 0; i < 6; ++i) deep += "/" + Bytes(200, 'x');
  EXPECT_EQ(bench.Command(1, "dev", deep, "x"), CommandStart::kTooLarge);
  EXPECT_TRUE(bench.TakeSent().empty());
}

TEST(CoapObserve, ObserversAreBoundedAndOneMoreIsAnsweredAsAGet) {
  Limits limits;
  limits.max_observers = 10;
  limits.max_observers_per_device = 2;
  Bench bench({}, limits);
  for (unsigned i = 0; i < 1000; ++i) {
    bench.Observe("cmd/dev" + std::to_string(i), "t", std::to_string(i));
  }
  EXPECT_TRUE(bench.server.Listens("dev9"));
  EXPECT_FALSE(bench.server.Listens("dev10"));
  const auto sent = bench.Ask(ObserveBytes(1, "t", "cmd/dev10", kRegister));
  EXPECT_EQ(sent.at(0).dotted(), 404u);
  EXPECT_FALSE(sent[0].Has(6));
  // A device's own oldest is replaced.
  for (const char* token : {"a", "b", "c"}) bench.Observe("cmd/dev0", token, "0");
  bench.Command(1, "dev0", "cmd/dev0", "x");
  const auto notified = bench.TakeSent();
  ASSERT_EQ(notified.size(), 1u);
  EXPECT_EQ(notified[0].token, "c");
}

TEST(CoapObserve, TheLatestCommandsAreBounded) {
  Limits limits;
  limits.max_command_bytes = 20'000;
  Bench bench({}, limits);
  for (unsigned i = 0; i < 100; ++i) {
    const Bytes device = "d" + std::to_string(i);
    bench.Observe("cmd/" + device, "t", device);
    ASSERT_EQ(bench.Command(i, device, "cmd/" + device, Bytes(1000, 'x')), CommandStart::kSent);
    bench.Ask(Datagram(kAck, 0, bench.TakeSent().at(0).id), device);
  }
  const auto get = [&bench](const Bytes& device) {
    return bench.Ask(Datagram(kCon, kGetCode, bench.next_id++, "", Path("cmd/" + device)), device)
        .at(0)
        .dotted();
  };
  EXPECT_EQ(get("d0"), 404u);
  EXPECT_EQ(get("d99"), 205u);
}

TEST(CoapObserve, TooMuchThatWaitsForOneFarEndIsBusy) {
  Limits limits;
  limits.max_queued_per_peer = 3;
  Bench bench({}, limits);
  for (unsigned i = 0; i < 4; ++i) bench.Observe("cmd/d" + std::to_string(i), std::to_string(i));
  for (unsigned i = 0; i < 4; ++i) {
    const Bytes device = "d" + std::to_string(i);
    EXPECT_EQ(bench.Command(i, device, "cmd/" + device, "x"),
              i < 3 ? CommandStart::kSent : CommandStart::kBusy);
  }
}

TEST(CoapObserve, AddressesThatProveNothingDisplaceNoObserverThatDid) {
  Limits limits;
  limits.max_observers = 8;
  limits.max_observers_per_device = 2;
  Bench bench({}, limits);
  bench.Observe("cmd/dev", "real");  // acknowledges its registration
  for (unsigned i = 0; i < 100; ++i) {
    bench.Ask(ObserveBytes(1000 + i, "s" + std::to_string(i),
                           i % 2 == 0 ? "cmd/dev" : "cmd/d" + std::to_string(i), kRegister),
              "spoofed-" + std::to_string(i));
  }
  bench.TakeLog();
  ASSERT_EQ(bench.Command(7, "dev", "cmd/dev/set", "on"), CommandStart::kSent);
  const auto sent = bench.TakeSent();
  EXPECT_TRUE(std::any_of(sent.begin(), sent.end(), [](const Read& read) {
    return read.token == "real" && read.payload == "on";
  }));
  // The table of unproved addresses is full, and a new device is still accepted.
  bench.Ask(ObserveBytes(5, "late", "cmd/late", kRegister), "late");
  EXPECT_TRUE(bench.server.Listens("late"));
}

TEST(CoapObserve, AnObserverDisplacedByAnotherDeviceObservesNoLonger) {
  Limits limits;
  limits.max_observers = 1;
  Bench bench({}, limits);
  bench.Ask(ObserveBytes(1, "t", "cmd/a", kRegister), "far-a");
  EXPECT_EQ(bench.TakeLog(), "[a observes]");
  bench.Ask(ObserveBytes(1, "t", "cmd/b", kRegister), "far-b");
  EXPECT_EQ(bench.TakeLog(), "[a left][b observes]");
  EXPECT_FALSE(bench.server.Listens("a"));
}

}  // namespace
}  // namespace seganet
