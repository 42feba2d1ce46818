#include "core/devices/desk/forwardings.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

namespace seganet {
namespace {

Forwarding Of(uint64_t id, uint64_t connection = 0) {
  Forwarding forwarding;
  forwarding.id = id;
  forwarding.connection = connection;
  return forwarding;
}

TEST(Forwardings, ARequestIsTakenOnce) {
  Forwardings all;
  const uint64_t handle = all.Add(Of(7), 10);
  EXPECT_TRUE(Forwardings::IsHandle(handle));
  EXPECT_FALSE(Forwardings::IsHandle(1));
  const auto taken = all.Take(handle);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->id, 7u);
  EXPECT_FALSE(all.Take(handle));
  EXPECT_NE(all.Add(Of(8), 10), handle);
}

TEST(Forwardings, RequestsAndBytesAreLimited) {
  Forwardings all;
  uint64_t first = 0;
  for (size_t i = 0; i < Forwardings::kMost; ++i) {
    const uint64_t handle = all.Add(Of(i), 1);
    ASSERT_NE(handle, 0u);
    if (first == 0) first = handle;
  }
  EXPECT_EQ(all.Add(Of(0), 0), 0u);
  EXPECT_TRUE(all.Take(first));
  EXPECT_EQ(all.Add(Of(0), Forwardings::kMostBytes), 0u);
  const uint64_t large = all.Add(Of(0, 1), Forwardings::kMostBytes - Forwardings::kMost + 1);
  EXPECT_NE(large, 0u);
  EXPECT_TRUE(all.Take(first + 1));
  EXPECT_EQ(all.Add(Of(0), 2), 0u);
  EXPECT_TRUE(all.Take(large));
  EXPECT_NE(all.Add(Of(0), 2), 0u);
}

TEST(Forwardings, APeerLeavesRoomForOthers) {
  Forwardings all;
  constexpr size_t kEighth = Forwardings::kMostBytes / 8;
  uint64_t first = 0;
  for (int i = 0; i < 4; ++i) {
    const uint64_t handle = all.Add(Of(0, 1), kEighth);
    ASSERT_NE(handle, 0u);
    if (first == 0) first = handle;
  }
  EXPECT_EQ(all.Add(Of(0, 1), kEighth), 0u) << "it has half";
  EXPECT_NE(all.Add(Of(0, 1), 0), 0u) << "a request without a body needs no room";
  EXPECT_NE(all.Add(Of(0, 2), kEighth), 0u);
  EXPECT_NE(all.Add(Of(0, 2), kEighth), 0u);
  EXPECT_EQ(all.Add(Of(0, 2), kEighth), 0u);
  EXPECT_NE(all.Add(Of(0, 3), kEighth), 0u);
  EXPECT_TRUE(all.Take(first));
  EXPECT_EQ(all.Add(Of(0, 1), kEighth), 0u) << "others have come meanwhile";
}

std::shared_ptr<const ForwardRow> Row(const std::string& device, uint64_t connection) {
  auto row = std::make_shared<ForwardRow>();
  row->device = device;
  row->owner = "alice";
  row->connection = connection;
  row->grants = {{"bob", GrantRights::kRead}, {"carol", GrantRights::kReadWrite}};
  return row;
}

TEST(ForwardTable, ANewConnectionOfADeviceStaysWhenTheOlderOneLeaves) {
  ForwardTable table;
  table.Put(Row("dev", 1));
  table.Put(Row("dev", 2));
  table.Remove("dev", 1);
  ASSERT_NE(table.Find("dev"), nullptr);
  EXPECT_EQ(table.Find("dev")->connection, 2u);
  table.Remove("dev", 2);
  table.Remove("other", 2);
  EXPECT_EQ(table.Find("dev"), nullptr);
  EXPECT_EQ(table.size(), 0u);
}

TEST(ForwardTable, AGrantAllowsReadingOrAll) {
  const auto row = Row("dev", 1);
  EXPECT_TRUE(row->Allows("alice", false));
  EXPECT_TRUE(row->Allows("bob", true));
  EXPECT_FALSE(row->Allows("bob", false));
  EXPECT_TRUE(row->Allows("carol", false));
  EXPECT_FALSE(row->Allows("dave", true));
}

}  // namespace
}  // namespace seganet
