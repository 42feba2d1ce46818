#include "core/devices/device_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <utility>

#include "test/support/support.h"

namespace seganet {
namespace {

using test::kSecond;

class DeviceTableTest : public testing::Test {
 protected:
  std::atomic<int64_t> connected_{0};
  Identities identities_;
};

TEST_F(DeviceTableTest, KeepsTheSequenceOfADeviceThatComesBack) {
  DeviceTable table(10, &connected_, &identities_);
  table.Get("a", 0)->next_seq = 7;
  table.Get("b", 0);
  EXPECT_EQ(table.Get("a", 5)->next_seq, 7u);
  EXPECT_EQ(table.size(), 2u);
}

TEST_F(DeviceTableTest, ARowFromAnotherTableReplacesTheOneWithItsId) {
  DeviceTable table(10, &connected_, &identities_);
  table.Get("a", 0)->next_seq = 7;
  DeviceTable other(10, &connected_, &identities_);
  other.Get("a", 0)->next_seq = 8;
  for (auto& row : other.Take([](const Device&) { return true; })) table.Put(std::move(row));
  EXPECT_EQ(other.size(), 0u);
  EXPECT_EQ(table.size(), 1u);
  EXPECT_EQ(table.Find("a")->next_seq, 8u);
  EXPECT_EQ(table.Get("a", 1)->next_seq, 8u);
}

TEST_F(DeviceTableTest, CountsADeviceOnceAndForgetsItWhenItIsSilent) {
  DeviceTable table(10, &connected_, &identities_);
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
  DeviceTable table(10, &connected_, &identities_);
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
  DeviceTable table(10, &connected_, &identities_);
  table.Count(table.Get("a", 0), 0);
  Device* busy = table.Get("b", 0);
  for (int64_t now = 0; now <= 2 * DeviceTable::kPushedUs; now += kSecond) {
    table.Count(busy, now);
    table.Sweep(now);
    EXPECT_EQ(connected_, now > DeviceTable::kPushedUs ? 1 : 2) << now;
  }
}

TEST_F(DeviceTableTest, ADeviceThatLeavesIsNoLongerCounted) {
  DeviceTable table(10, &connected_, &identities_);
  Device* device = table.Get("a", 0);
  table.Count(device, 0);
  table.Disconnected(device);
  EXPECT_EQ(connected_, 0);
}

TEST_F(DeviceTableTest, AFullTableForgetsAnAbsentDeviceAndNeverAConnectedOne) {
  constexpr size_t kLimit = 100;
  DeviceTable table(kLimit, &connected_, &identities_);
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
  DeviceTable table(2, &connected_, &identities_);
  Agent* const connected = reinterpret_cast<Agent*>(this);
  table.Get("a", 0)->agent = connected;
  table.Get("b", 0)->agent = connected;
  EXPECT_EQ(table.Get("c", 0), nullptr);
  EXPECT_NE(table.Get("a", 0), nullptr);
}

TEST_F(DeviceTableTest, ABridgeLeavesWithTheDevicesBehindIt) {
  identities_.Activate();
  DeviceTable table(10, &connected_, &identities_), other(10, &connected_, &identities_);
  Device* const bridge = table.Get("bridge", 0);
  Device* const device = table.GetBehind(bridge, "a", 0);
  EXPECT_EQ(device->slot, bridge->slot);
  EXPECT_EQ(table.GetBehind(bridge, "a", 0), device);
  EXPECT_EQ(table.Find("a"), nullptr);
  table.Count(device, 0);
  EXPECT_EQ(table.size(), 2u);
  for (auto& row : table.Take([](const Device&) { return true; })) other.Put(std::move(row));
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(other.size(), 2u);
  EXPECT_EQ(DeviceTable::FindBehind(other.Find("bridge"), "a"), device);
  EXPECT_EQ(connected_, 1);
  other.DropBehind(bridge);
  EXPECT_EQ(other.size(), 1u);
  EXPECT_EQ(connected_, 0);
}

TEST_F(DeviceTableTest, DevicesBehindBridgesTakeHalfOfTheRows) {
  identities_.Activate();
  DeviceTable table(6, &connected_, &identities_);
  Device* const bridge = table.Get("bridge", 0);
  Device* const other = table.Get("other", 0);
  table.Count(table.GetBehind(bridge, "a", 0), 0);
  table.Count(table.GetBehind(bridge, "b", 1), 1);
  table.Count(table.GetBehind(other, "c", 2), 2);
  EXPECT_EQ(table.GetBehind(bridge, "d", 3), nullptr);
  EXPECT_EQ(table.GetBehind(other, "d", 3), nullptr);
  EXPECT_EQ(table.size(), 5u);
  // Those that no longer count as connected make room, the longest absent first.
  table.Sweep(DeviceTable::kPushedUs + 2);
  EXPECT_NE(table.GetBehind(bridge, "d", 4), nullptr);
  EXPECT_EQ(DeviceTable::FindBehind(bridge, "a"), nullptr);
  EXPECT_NE(DeviceTable::FindBehind(bridge, "b"), nullptr);
  EXPECT_EQ(table.size(), 5u);
}

TEST_F(DeviceTableTest, AnEvictedBridgeTakesItsDevicesWithIt) {
  identities_.Activate();
  DeviceTable table(4, &connected_, &identities_);
  Device* const bridge = table.Get("bridge", 0);
  table.Count(table.GetBehind(bridge, "a", 0), 0);
  table.Count(table.GetBehind(bridge, "b", 0), 0);
  table.Get("x", 1);
  EXPECT_EQ(table.size(), 4u);
  table.Get("y", 2);
  EXPECT_EQ(table.Find("bridge"), nullptr);
  EXPECT_EQ(table.size(), 2u);
  EXPECT_EQ(connected_, 0);
  EXPECT_EQ(identities_.BridgeOf("a"), "");
}

}  // namespace
}  // namespace seganet
