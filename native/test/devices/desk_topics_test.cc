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

TEST(DeskTopics, WithoutRoomATopicKeepsItsEarlierPost) {
  DeskTopics topics(10);
  topics.Open(Spec(1, "a"));
  topics.Open(Spec(2, "b"));
  DeskTopic* const a = topics.Find(1);
  DeskTopic* const b = topics.Find(2);
  topics.Keep(a, "123456", 1);
  topics.Keep(b, "1234", 2);
  topics.Keep(b, "12345", 3);
  EXPECT_EQ(b->latest, "1234");
  EXPECT_EQ(b->number, 2u);
  EXPECT_FALSE(topics.HasRoom(1));
  EXPECT_FALSE(topics.Take(1));
  topics.Keep(a, "12", 4);
  EXPECT_TRUE(topics.Take(4));
  topics.Keep(b, "12345", 5);
  EXPECT_EQ(b->number, 2u);
  topics.Give(4);
  topics.Keep(b, "12345", 6);
  EXPECT_EQ(b->number, 6u);
  EXPECT_EQ(topics.bytes(), 7u);
}

}  // namespace
}  // namespace seganet
