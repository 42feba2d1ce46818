// Packets that have not arrived in full: how much they may hold, and for how long.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "test/support/engine_support.h"

namespace seganet {
namespace {

using mqtt_test::Puback;
using mqtt_test::Publish1;
using test::DeviceClient;
using test::Until;

constexpr size_t kMostPacket = 262'144;

class EngineUnfinished : public test::EngineTest {
 protected:
  // The largest accepted packet.
  static std::string Largest() {
    std::string packet = Publish1("t", 1, std::string(kMostPacket - 9, 'x'));
    EXPECT_EQ(packet.size(), kMostPacket);
    return packet;
  }
  static std::string WithoutEnd(std::string packet) {
    packet.pop_back();
    return packet;
  }
  // Waits until the engine has read `bytes` more than `before`.
  bool HasRead(uint64_t before, uint64_t bytes) {
    return Until([&] { return Count(Counter::kBytesReceived) >= before + bytes; });
  }

  std::vector<DeviceClient> Stall(uint16_t port, int n, const std::string& prefix = "stalled-") {
    std::vector<DeviceClient> stalled;
    const std::string bytes = WithoutEnd(Largest());
    const uint64_t before = Count(Counter::kBytesReceived);
    for (int i = 0; i < n; ++i) {
      stalled.emplace_back(port);
      EXPECT_TRUE(stalled.back().Connect(prefix + std::to_string(i)));
      EXPECT_TRUE(stalled.back().Send(bytes));
      EXPECT_TRUE(HasRead(before, bytes.size() * static_cast<size_t>(i + 1)));
    }
    return stalled;
  }
};

TEST_F(EngineUnfinished, StalledOnesNeverEndDevicesWhosePacketComesInTwoPieces) {
  Start();
  const uint16_t port = Listen();
  const std::vector<DeviceClient> stalled = Stall(port, 64);
  EXPECT_EQ(Closed(CloseReason::kUnfinished), 0u);
  for (int i = 0; i < 20; ++i) {
    DeviceClient honest(port);
    ASSERT_TRUE(honest.Connect("honest-" + std::to_string(i)));
    const std::string packet = Publish1("plant/temperature", 7, "21");
    const uint64_t before = Count(Counter::kBytesReceived);
    ASSERT_TRUE(honest.Send(packet.substr(0, 10)));
    ASSERT_TRUE(HasRead(before, 10));
    ASSERT_TRUE(honest.Send(packet.substr(10)));
    EXPECT_EQ(honest.Receive(4), Puback(7));
  }
  EXPECT_EQ(Closed(CloseReason::kUnfinished), 0u);
}

TEST_F(EngineUnfinished, ABurstOfLargeOnesDoesNotEndASmallOneThatBeganBefore) {
  EngineOptions options;
  options.workers = 1;
  Start(options);
  const uint16_t port = Listen();
  DeviceClient honest(port);
  const std::vector<DeviceClient> first = Stall(port, 60);
  ASSERT_TRUE(honest.Connect("honest"));
  const std::string packet = Publish1("t", 7, std::string(40'000, 'x'));
  const uint64_t before = Count(Counter::kBytesReceived);
  ASSERT_TRUE(honest.Send(packet.substr(0, 20'000)));
  ASSERT_TRUE(HasRead(before, 20'000));
  const std::vector<DeviceClient> more = Stall(port, 200, "more-");
  EXPECT_GE(Closed(CloseReason::kUnfinished), 190u);
  ASSERT_TRUE(honest.Send(packet.substr(20'000)));
  EXPECT_EQ(honest.Receive(4), Puback(7));
}

TEST_F(EngineUnfinished, WhenTheyAreTooMuchTheOneThatWaitedLongestIsClosed) {
  EngineOptions options;
  options.workers = 1;
  Start(options);
  const uint16_t port = Listen();
  std::vector<DeviceClient> stalled = Stall(port, 64);
  for (int i = 0; i < 3; ++i) {
    DeviceClient honest(port);
    ASSERT_TRUE(honest.Connect("honest-" + std::to_string(i)));
    const std::string packet = Publish1("t", 7, std::string(100'000, 'x'));
    const uint64_t before = Count(Counter::kBytesReceived);
    ASSERT_TRUE(honest.Send(packet.substr(0, 60'000)));
    ASSERT_TRUE(HasRead(before, 60'000));
    ASSERT_TRUE(honest.Send(packet.substr(60'000)));
    EXPECT_EQ(honest.Receive(4), Puback(7));
  }
  EXPECT_TRUE(stalled[0].ClosedByPeer());
  const uint64_t closed = Closed(CloseReason::kUnfinished);
  EXPECT_GE(closed, 1u);
  EXPECT_LE(closed, 3u);
  ASSERT_TRUE(stalled[63].Send("x"));
  EXPECT_EQ(stalled[63].Receive(4), Puback(1));
}

TEST_F(EngineUnfinished, OneThatDoesNotComeIsClosedAndADeviceThatGetsOnIsNot) {
  EngineOptions options;
  options.unfinished_us = 1'500'000;
  Start(options);
  const uint16_t port = Listen();
  DeviceClient busy(port);
  ASSERT_TRUE(busy.Connect("busy"));
  const std::string packet = Publish1("t", 7, std::string(10'000, 'x'));
  // Each piece ends a packet and begins the next: the rest of one is always missing.
  ASSERT_TRUE(busy.Send(packet.substr(0, 5000)));
  std::vector<DeviceClient> stalled = Stall(port, 1);
  DeviceClient small(port);
  ASSERT_TRUE(small.Connect("small"));
  ASSERT_TRUE(small.Send(packet.substr(0, 3000)));
  const int64_t start = MonotonicUs();
  while (Closed(CloseReason::kUnfinished) == 0 ||
         MonotonicUs() - start < 2 * options.unfinished_us) {
    ASSERT_LT(MonotonicUs() - start, int64_t{test::kPatienceMs} * 1000);
    ASSERT_TRUE(busy.Send(packet.substr(5000) + packet.substr(0, 5000)));
    ASSERT_EQ(busy.Receive(4), Puback(7));
    DrainUplink();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(Closed(CloseReason::kUnfinished), 1u);
  EXPECT_TRUE(stalled[0].ClosedByPeer());
  ASSERT_TRUE(small.Send(packet.substr(3000)));
  EXPECT_EQ(small.Receive(4), Puback(7)) << "up to 4 KiB may wait";
}

}  // namespace
}  // namespace seganet
