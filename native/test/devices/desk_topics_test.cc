#include "core/devices/desk/desk_topics.h"

#include <gtest/gtest.h>

#include <string>

namespace seganet {
namespace {

DeskTopicSpec Spec(uint64_t id, const std::string& name, uint32_t stage = 1,
                   const std::string& owner = "o") {
  return {id, stage, owner, name, "ps/" + name, 0};
}

TEST(DeskTopics, FindsATopicByItsSourceOwnerAndPath) {
  DeskTopics topics(1000);
  EXPECT_EQ(topics.Find(1, "o", {"p", "a"}, 1), nullptr);
  topics.Open(Spec(1, "a/b"));
  topics.Open(Spec(2, "a/b", 2));
  topics.Open(Spec(3, "a/b", 1, "oo"));
  EXPECT_EQ(topics.Find(1, "o", {"p", "a", "b"}, 1)->spec.id, 1u);
  EXPECT_EQ(topics.Find(2, "o", {"p", "a", "b"}, 1)->spec.id, 2u);
  EXPECT_EQ(topics.Find(1, "oo", {"p", "a", "b"}, 1)->spec.id, 3u);
  EXPECT_EQ(topics.Find(1, "o", {"p", "a"}, 1), nullptr);
  EXPECT_EQ(topics.Find(1, "o", {"p", "a", "b", "c"}, 1), nullptr);
  EXPECT_EQ(topics.Find(4), nullptr);
}

TEST(DeskTopics, ANewTopicClosesTheOneWithItsName) {
  DeskTopics topics(1000);
  topics.Open(Spec(1, "a"));
  const auto kept = topics.Find(1)->shared_from_this();
  topics.Keep(kept.get(), "value", 1);
  topics.Open(Spec(2, "a"));
  EXPECT_FALSE(kept->is_open);
  EXPECT_EQ(topics.bytes(), 0u);
  EXPECT_EQ(topics.Find(1), nullptr);
  EXPECT_EQ(topics.Find(1, "o", {"a"}, 0)->spec.id, 2u);
  EXPECT_EQ(topics.size(), 1u);
  topics.Close(1);
  EXPECT_EQ(topics.size(), 1u);
  topics.Close(2);
  EXPECT_EQ(topics.size(), 0u);
  EXPECT_EQ(topics.Find(1, "o", {"a"}, 0), nullptr);
}

// Owners share the room: each has 10 bytes, and posts that are not safe yet have 40.
constexpr size_t kRoom = 80;

TEST(DeskTopics, WithoutRoomATopicKeepsItsEarlierPost) {
  DeskTopics topics(kRoom);
  for (uint64_t i = 1; i <= 5; ++i) topics.Open(Spec(i, "t", 1, "owner " + std::to_string(i)));
  for (uint64_t i = 1; i <= 4; ++i) topics.Keep(topics.Find(i), "0123456789", i);
  ASSERT_TRUE(topics.Take(34));
  DeskTopic* const last = topics.Find(5);
  topics.Keep(last, "012345", 5);
  topics.Keep(last, "0123456", 6);
  EXPECT_EQ(last->latest, "012345");
  EXPECT_EQ(last->number, 5u);
  EXPECT_EQ(topics.bytes(), kRoom);
  EXPECT_FALSE(topics.HasRoom(1));
  EXPECT_FALSE(topics.Take(1));
  topics.Give(34);
  topics.Keep(last, "0123456", 7);
  EXPECT_EQ(last->number, 7u);
  EXPECT_EQ(topics.bytes(), 47u);
}

TEST(DeskTopics, OneOwnerTakesAnEighthOfTheRoom) {
  DeskTopics topics(kRoom);
  for (uint64_t i = 1; i <= 9; ++i) topics.Open(Spec(i, std::to_string(i)));
  topics.Open(Spec(10, "other", 1, "p"));
  topics.Open(Spec(11, "elsewhere", 2));
  for (uint64_t i = 1; i <= 9; ++i) topics.Keep(topics.Find(i), "0123", i);
  EXPECT_EQ(topics.bytes(), 8u) << "two posts of the owner";
  EXPECT_EQ(topics.Find(2)->number, 2u);
  EXPECT_EQ(topics.Find(3)->number, 0u);
  // Other owners, and owners of that name at other sources, have their own share.
  topics.Keep(topics.Find(10), "0123456789", 10);
  topics.Keep(topics.Find(11), "0123456789", 11);
  EXPECT_EQ(topics.bytes(), 28u);
  // A topic may change its post within the share.
  topics.Keep(topics.Find(1), "012345", 12);
  topics.Keep(topics.Find(2), "01234", 13);
  EXPECT_EQ(topics.Find(1)->number, 12u);
  EXPECT_EQ(topics.Find(2)->number, 2u);
  topics.Close(1);
  topics.Keep(topics.Find(9), "012345", 14);
  EXPECT_EQ(topics.Find(9)->number, 14u);
}

TEST(DeskTopics, TheBytesOfAnOwnerEndWithItsPosts) {
  DeskTopics topics(kRoom);
  topics.Open(Spec(1, "a"));
  topics.Open(Spec(2, "b"));
  topics.Keep(topics.Find(1), "", 1);
  EXPECT_EQ(topics.owners(), 0u);
  topics.Keep(topics.Find(1), "012345678", 2);
  topics.Keep(topics.Find(2), "9", 3);
  EXPECT_EQ(topics.owners(), 1u);
  topics.Keep(topics.Find(1), "", 4);
  EXPECT_EQ(topics.owners(), 1u);
  topics.Open(Spec(3, "b"));
  EXPECT_EQ(topics.owners(), 0u);
  EXPECT_EQ(topics.bytes(), 0u);
  EXPECT_EQ(topics.Find(1, "o", {"b"}, 0)->spec.id, 3u);
}

TEST(DeskTopics, PostsThatAreNotSafeYetTakeHalfOfTheRoom) {
  DeskTopics topics(kRoom);
  EXPECT_TRUE(topics.Take(30));
  EXPECT_TRUE(topics.Take(10));
  EXPECT_FALSE(topics.HasRoom(1));
  EXPECT_FALSE(topics.Take(1));
  topics.Give(10);
  EXPECT_TRUE(topics.HasRoom(10));
  EXPECT_FALSE(topics.HasRoom(11));
  EXPECT_EQ(topics.bytes(), 30u);
}

}  // namespace
}  // namespace seganet
