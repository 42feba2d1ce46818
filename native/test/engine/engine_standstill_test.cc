// A worker that stands still for longer than a device may be silent.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "test/support/engine_support.h"

namespace seganet {
namespace {

using mqtt_test::Publish1;
using test::DeviceClient;
using test::Until;

// Holds the worker that rings it, once.
class HoldingBell : public Doorbell {
 public:
  void HoldNext() {
    Answer();
    holds_ = true;
  }
  bool is_holding() const { return is_holding_; }
  void Release() { holds_ = false; }

 private:
  void Call() override {
    if (!holds_) return;
    is_holding_ = true;
    while (holds_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    is_holding_ = false;
  }
  std::atomic<bool> holds_{false}, is_holding_{false};
};

class EngineStandstill : public testing::Test {
 protected:
  static constexpr uint32_t kSource = 1, kUplink = 2, kAsking = 3;
  static constexpr std::string_view kPing{"\xC0\0", 2}, kPingresp{"\xD0\0", 2};

  void Start(EngineOptions options) {
    options.workers = 1;
    ASSERT_TRUE(engine_.Start(options).ok());
    ASSERT_TRUE(engine_
                    .ApplyPlan({test::Spec(kSource, StageKind::kSource, {kUplink}),
                                test::UplinkStage(kUplink),
                                test::Spec(kAsking, StageKind::kSource, {kUplink})})
                    .ok());
    ASSERT_TRUE(engine_.Listen(kSource, {.host = "127.0.0.1"}, &port_).ok());
  }
  // Holds the worker, which gets a turn of its own for each connection, for `us`, and calls
  // `meanwhile` at the begin.
  void StandStill(int64_t us, const std::function<void()>& meanwhile) {
    DeviceClient other(port_);
    Hold(&other, us, meanwhile);
    EXPECT_EQ(other.Receive(4), DeviceClient::kAccepted);
  }
  // Holds the acceptor, which rings for each login.
  void StandStillAccepting(int64_t us, const std::function<void()>& meanwhile) {
    uint16_t port = 0;
    ASSERT_TRUE(engine_.Listen(kAsking, {.host = "127.0.0.1", .ask_login = true}, &port).ok());
    DeviceClient other(port);
    Hold(&other, us, meanwhile);
  }
  uint64_t Closed(CloseReason reason) {
    engine_.ReadCounters(&counters_, &drops_, &close_reasons_);
    return close_reasons_[static_cast<size_t>(reason)];
  }
  uint64_t Count(Counter counter) {
    engine_.ReadCounters(&counters_, &drops_, &close_reasons_);
    return counters_[static_cast<size_t>(counter)];
  }

  HoldingBell bell_;
  Engine engine_{&bell_};
  uint16_t port_ = 0;

 private:
  void Hold(DeviceClient* other, int64_t us, const std::function<void()>& meanwhile) {
    bell_.HoldNext();
    mqtt_test::ConnectFields fields;
    fields.payload = mqtt_test::Str("other");
    ASSERT_TRUE(other->Send(mqtt_test::ConnectPacket(fields)));
    ASSERT_TRUE(Until([this] { return bell_.is_holding(); }));
    meanwhile();
    const int64_t until_us = MonotonicUs() + us;
    EXPECT_TRUE(Until([&] { return MonotonicUs() > until_us; }));
    bell_.Release();
  }

  std::array<uint64_t, kCounters> counters_;
  std::array<std::array<uint64_t, kClassSlots>, kDrops> drops_;
  std::array<uint64_t, kCloseReasonCount> close_reasons_;
};

TEST_F(EngineStandstill, ADeviceWhosePingWaitsInTheSocketIsNotSilent) {
  Start({});
  DeviceClient device(port_), silent(port_);
  ASSERT_TRUE(device.Connect("device", 1));
  ASSERT_TRUE(silent.Connect("silent", 1));
  StandStill(2'000'000, [&] { ASSERT_TRUE(device.Send(kPing)); });
  EXPECT_EQ(device.Receive(2), kPingresp);
  EXPECT_TRUE(silent.ClosedByPeer());
}

TEST_F(EngineStandstill, ADeviceWhoseRestWaitsInTheSocketIsNotSilent) {
  EngineOptions options;
  options.unfinished_us = 1'000'000;
  Start(options);
  DeviceClient device(port_);
  ASSERT_TRUE(device.Connect("device"));
  const std::string packet = Publish1("t", 7, std::string(10'000, 'x'));
  ASSERT_TRUE(device.Send(packet.substr(0, 5000)));
  ASSERT_TRUE(device.Send(packet.substr(5000, 1000)));
  StandStill(1'500'000, [&] { ASSERT_TRUE(device.Send(packet.substr(6000))); });
  EXPECT_EQ(device.Receive(4), mqtt_test::Puback(7));
  EXPECT_EQ(Closed(CloseReason::kUnfinished), 0u);
}

TEST_F(EngineStandstill, AConnectionWhoseConnectWaitsInTheSocketIsNotClosed) {
  Start({});
  engine_.Unlisten(kSource);
  const ListenSpec spec{.host = "127.0.0.1", .connect_timeout_us = 1'000'000};
  ASSERT_TRUE(engine_.Listen(kSource, spec, &port_).ok());
  DeviceClient device(port_), silent(port_);
  ASSERT_TRUE(Until([this] { return Count(Counter::kConnectionsAccepted) == 2; }));
  StandStillAccepting(2'000'000, [&] {
    mqtt_test::ConnectFields fields;
    fields.payload = mqtt_test::Str("device");
    ASSERT_TRUE(device.Send(mqtt_test::ConnectPacket(fields)));
  });
  EXPECT_EQ(device.Receive(4), DeviceClient::kAccepted);
  EXPECT_TRUE(silent.ClosedByPeer());
  EXPECT_EQ(Count(Counter::kConnectTimeouts), 1u);
}

}  // namespace
}  // namespace seganet
