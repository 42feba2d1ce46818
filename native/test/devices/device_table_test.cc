#include "core/devices/device_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <utility>

namespace seganet {
namespace {

constexpr int64_t kSecond = 1'000'000;

class DeviceTableTest : public testing::Test {
 protected:
  std::atomic<int64_t> connected_{0};
};

TEST_F(DeviceTableTest, KeepsTheSequenceOfADeviceThatComesBack) {
  DeviceTable table(10, &connected_);
  table.Get("a", 0)->next_seq = 7;
  table.Get("b", 0);
  EXPECT_EQ(table.Get("a", 5)->next_seq, 7u);
  EXPECT_EQ(table.size(), 2u);
}

TEST_F(DeviceTableTest, ARowFromAnotherTableReplacesTheOneWithItsId) {
  DeviceTable table(10, &connected_);
  table.Get("a", 0)->next_seq = 7;
  DeviceTable other(10, &connected_);
  other.Get("a", 0)->next_seq = 8;
  for (auto& row : other.Take([](const Device&) { return true; })) table.Put(std::move(row));
  EXPECT_EQ(other.size(), 0u);
  EXPECT_EQ(table.size(), 1u);
  EXPECT_EQ(table.Find("a")->next_seq, 8u);
  EXPECT_EQ(table.Get("a", 1)->next_seq, 8u);
}

TEST_F(DeviceTableTest, CountsADeviceOnceAndForgetsItWhenItIsSilent) {
  DeviceTable table(10, &connected_);
  Device* device = table.Get("a", 0);
  table.Count(device, 0);
  table.Count(device, kSecond);
  EXPECT_EQ(connected_, 1);
  table.Sweep(kSecond + DeviceTable::kPushedUs);
  EXPECT_EQ(connected_, 1);
  table.Sweep(kSecond + DeviceTable::kPushedUs + 1);
  EXPECT_EQ(connected_, 0);
}

TEST_F(DeviceTableTest, AnObserverCountsUntilItLeavesOff) {
  DeviceTable table(10, &connected_);
  Device* device = table.Get("a", 0);
  table.Count(device, 0);
  device->observing = true;
  int64_t now = 2 * DeviceTable::kPushedUs;
  table.Sweep(now);
  EXPECT_EQ(connected_, 1);
  device->observing = false;
  for (int i = 0; i < 8; ++i) table.Sweep(now += kSecond / 4);
  EXPECT_EQ(connected_, 0);
}

TEST_F(DeviceTableTest, ASilentDeviceIsFoundWhateverTheOthersDo) {
  DeviceTable table(10, &connected_);
  table.Count(table.Get("a", 0), 0);
  Device* busy = table.Get("b", 0);
  for (int64_t now = 0; now <= 2 * DeviceTable::kPushedUs; now += kSecond) {
    table.Count(busy, now);
    table.Sweep(now);
    EXPECT_EQ(connected_, now > DeviceTable::kPushedUs ? 1 : 2) << now;
  }
}

TEST_F(DeviceTableTest, ADeviceThatLeavesIsNoLongerCounted) {
  DeviceTable table(10, &connected_);
  Device* device = table.Get("a", 0);
  table.Count(device, 0);
  table.Disconnected(device);
  EXPECT_EQ(connected_, 0);
}

TEST_F(DeviceTableTest, AFullTableForgetsAnAbsentDeviceAndNeverAConnectedOne) {
  constexpr size_t kLimit = 100;
  DeviceTable table(kLimit, &connected_);
  Agent* const connected = reinterpret_cast<Agent*>(this);  // never followed
  for (size_t i = 0; i < kLimit; ++i) {
    Device* device = table.Get("d" + std::to_string(i), static_cast<int64_t>(i));
    if (i % 2 == 0) device->agent = connected;
  }
  for (int i = 0; i < 1000; ++i) {
    ASSERT_NE(table.Get("new" + std::to_string(i), kSecond + i), nullptr);
  }
  EXPECT_EQ(table.size(), kLimit);
  for (size_t i = 0; i < kLimit; i += 2) {
    EXPECT_EQ(table.Get("d" + std::to_string(i), 2 * kSecond)->agent, connected);
  }
}

TEST_F(DeviceTableTest, ATableOfConnectedDevicesTakesNoMore) {
  DeviceTable table(2, &connected_);
  Agent* const connected = reinterpret_cast<Agent*>(this);
  table.Get("a", 0)->agent = connected;
  table.Get("b", 0)->agent = connected;
  EXPECT_EQ(table.Get("c", 0), nullptr);
  EXPECT_NE(table.Get("a", 0), nullptr);
}

}  // namespace
}  // namespace seganet
