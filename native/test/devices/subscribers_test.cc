// The subscribers of a topic, and the memory of subscribers.
#include "core/devices/subscribers/subscribers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/record/rules.h"

namespace seganet {
namespace {

constexpr int64_t kLater = kNever - 1;

std::shared_ptr<const Interest> Make(const std::shared_ptr<Subscriber>& subscriber,
                                     std::string filter) {
  return std::make_shared<const Interest>(
      subscriber, mqtt::Subscriptions::Subscription{std::move(filter), 0, 0, {}});
}

TEST(SubscriberIndex, FindsWhatTopicMatchesFinds) {
  std::mt19937 random(7);
  const std::vector<std::string> levels = {"a", "b", "", "$s", "+", "#"};
  const auto draw = [&](size_t kinds) {
    std::string text;
    const size_t count = 1 + random() % 4;
    for (size_t i = 0; i < count; ++i) {
      const std::string& level = levels[random() % kinds];
      text += (i > 0 ? "/" : "") + level;
      if (level == "#") break;
    }
    return text.empty() ? "a" : text;
  };
  Subscribers subscribers;
  Interests all;
  for (int i = 0; i < 200; ++i) all.push_back(Make(subscribers.Open({.id = "s"}), draw(6)));
  const SubscriberIndex index(all);
  size_t found = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::string topic = draw(4);
    std::vector<SubscriberIndex::Hit> hits;
    index.Match(topic, &hits);
    std::vector<const Interest*> expected, actual;
    for (const auto& interest : all) {
      if (TopicMatches(interest->filter, topic)) expected.push_back(interest.get());
    }
    for (const SubscriberIndex::Hit& hit : hits) {
      actual.push_back(hit.interest);
      EXPECT_EQ(index.subscribers()[hit.subscriber], hit.interest->subscriber);
    }
    std::sort(expected.begin(), expected.end());
    std::sort(actual.begin(), actual.end());
    EXPECT_EQ(actual, expected) << topic;
    found += actual.size();
  }
  EXPECT_GT(found, 1000u);
}

TEST(Subscribers, AnEndedSubscriptionIsInactiveInAnOldIndex) {
  Subscribers subscribers;
  const auto one = subscribers.Open({.id = "one"});
  uint64_t seen = 0;
  EXPECT_FALSE(subscribers.active());
  const auto first = Make(one, "#");
  subscribers.Set(one.get(), {first});
  EXPECT_TRUE(subscribers.active());
  EXPECT_TRUE(subscribers.HasNewer(seen, kLater));
  const auto old = subscribers.Get(&seen);
  ASSERT_NE(old, nullptr);
  EXPECT_FALSE(subscribers.HasNewer(seen, kLater));
  subscribers.Set(one.get(), {Make(one, "a")});
  EXPECT_FALSE(first->active.load());
  EXPECT_TRUE(subscribers.HasNewer(seen, kLater));
  EXPECT_TRUE(subscribers.HasNewer(seen, MonotonicUs())) << "a quiet time saves up";
  subscribers.Close(one.get());
  EXPECT_FALSE(subscribers.active());
  EXPECT_EQ(old->subscribers().size(), 1u);
}

TEST(Subscribers, AFloodOfSubscriptionsWaits) {
  Subscribers subscribers;
  const auto one = subscribers.Open({.id = "one"});
  Interests many;
  for (int i = 0; i < 2000; ++i) many.push_back(Make(one, "a/" + std::to_string(i)));
  uint64_t seen = 0;
  const auto waits = [&] {
    subscribers.Set(one.get(), many);
    return !subscribers.HasNewer(seen, MonotonicUs());
  };
  const int64_t before_us = ThreadCpuUs();
  int made = 0;
  for (; made < 100'000 && !waits(); ++made) subscribers.Get(&seen);
  EXPECT_GT(made, 1);
  EXPECT_LT(made, 100'000);
  EXPECT_GE(ThreadCpuUs() - before_us, 90'000) << "a tenth of the second that was saved up";
  const uint64_t old = seen;
  EXPECT_NE(subscribers.Get(&seen), nullptr) << "the index of before";
  EXPECT_EQ(seen, old);
  EXPECT_TRUE(subscribers.HasNewer(seen, kLater));
}

TEST(Subscribers, TheirNumberIsLimited) {
  SubscriberLimits limits;
  limits.most = 2;
  Subscribers subscribers(limits);
  const auto one = subscribers.Open({.id = "1"});
  const auto two = subscribers.Open({.id = "2"});
  ASSERT_NE(two, nullptr);
  EXPECT_EQ(subscribers.Open({.id = "3"}), nullptr);
  subscribers.Close(one.get());
  EXPECT_NE(subscribers.Open({.id = "3"}), nullptr);
}

class SubscriberMemory : public testing::Test {
 protected:
  static SubscriberLimits Limits() {
    SubscriberLimits limits;
    limits.most_bytes = 100;
    limits.kept_bytes = 10;
    limits.shared_bytes = 120;
    return limits;
  }
  // Puts one packet of `bytes`. Returns the dropped records.
  uint64_t Put(Subscriber* to, size_t bytes) {
    subscribers_.passing()->Add(static_cast<int64_t>(bytes));
    const auto chunk =
        std::make_shared<const SubscriberChunk>(std::string(bytes, 'x'), subscribers_.passing());
    const SubscriberRange all{0, bytes, 1};
    return to->Put(chunk, {&all, 1}).dropped;
  }

  Subscribers subscribers_{Limits()};
};

TEST_F(SubscriberMemory, OneThatNeverReadsTakesNothingOfAnothersShare) {
  const auto deaf = subscribers_.Open({.id = "deaf"});
  const auto too = subscribers_.Open({.id = "too"});
  const auto good = subscribers_.Open({.id = "good"});
  EXPECT_EQ(Put(deaf.get(), 100), 0u);
  EXPECT_EQ(Put(deaf.get(), 1), 1u) << "its own limit";
  EXPECT_EQ(Put(too.get(), 50), 1u) << "90 of the shared 120 are in use";
  EXPECT_EQ(Put(too.get(), 40), 0u);
  EXPECT_EQ(Put(good.get(), 11), 1u) << "nothing is left of the shared bytes";
  EXPECT_EQ(Put(good.get(), 10), 0u) << "but its own";
  EXPECT_EQ(deaf->drops() + too->drops() + good->drops(), 3u);
  std::string read;
  EXPECT_TRUE(good->Take(1, &read));
  EXPECT_EQ(read.size(), 10u);
  EXPECT_EQ(good->waiting_bytes(), 0);
  EXPECT_EQ(Put(good.get(), 10), 0u);
  subscribers_.Close(deaf.get());
}

TEST_F(SubscriberMemory, AClosedSubscriberGivesItBack) {
  auto deaf = subscribers_.Open({.id = "deaf"});
  const auto good = subscribers_.Open({.id = "good"});
  EXPECT_EQ(Put(deaf.get(), 100), 0u);
  EXPECT_EQ(Put(good.get(), 50), 1u);
  subscribers_.Close(deaf.get());
  deaf = nullptr;
  EXPECT_EQ(Put(good.get(), 50), 0u);
}

TEST_F(SubscriberMemory, WhatIsCollectedPinsNoChunk) {
  const auto slow = subscribers_.Open({.id = "slow"});
  EXPECT_EQ(Put(slow.get(), 10), 0u);
  EXPECT_EQ(subscribers_.passing()->used(), 10);
  slow->Collect();
  EXPECT_EQ(subscribers_.passing()->used(), 0);
  EXPECT_EQ(slow->waiting_bytes(), 10);
}

TEST_F(SubscriberMemory, WhatWaitsElsewhereTakesOnlyTheKeptShare) {
  const auto one = subscribers_.Open({.id = "one"});
  one->Enter(3, nullptr);
  const auto put_kept = [&](size_t bytes, uint32_t* wake) {
    subscribers_.passing()->Add(static_cast<int64_t>(bytes));
    return one->PutKept(
        std::make_shared<const SubscriberChunk>(std::string(bytes, 'x'), subscribers_.passing()),
        wake);
  };
  uint32_t wake = 0;
  EXPECT_EQ(one->kept_room(), 10);
  EXPECT_TRUE(put_kept(6, &wake));
  EXPECT_EQ(wake, 3u);
  EXPECT_FALSE(put_kept(5, &wake));
  EXPECT_EQ(Put(one.get(), 50), 0u) << "records have the shared bytes, too";
  EXPECT_FALSE(put_kept(1, &wake));
  EXPECT_LT(one->kept_room(), 0);
  EXPECT_EQ(one->drops(), 0u);
  std::string read;
  EXPECT_TRUE(one->Take(1000, &read));
  EXPECT_EQ(read.size(), 56u);
  EXPECT_EQ(one->kept_room(), 10);
  EXPECT_TRUE(put_kept(10, &wake));
  EXPECT_EQ(subscribers_.passing()->used(), 10) << "nothing is left of what was refused";
}

TEST_F(SubscriberMemory, AWakeIsAskedForOnceUntilItIsServed) {
  const auto one = subscribers_.Open({.id = "one"});
  const auto put = [&] {
    subscribers_.passing()->Add(1);
    const auto chunk = std::make_shared<const SubscriberChunk>("x", subscribers_.passing());
    const SubscriberRange all{0, 1, 1};
    return one->Put(chunk, {&all, 1}).wake;
  };
  EXPECT_EQ(put(), Subscriber::kNoWorker) << "it is nowhere";
  one->Enter(3, nullptr);
  EXPECT_EQ(put(), 3u);
  EXPECT_EQ(put(), Subscriber::kNoWorker);
  std::string read;
  EXPECT_TRUE(one->Take(1000, &read));
  EXPECT_EQ(read, "xxx");
  EXPECT_EQ(put(), 3u);
  one->Leave();
  EXPECT_EQ(put(), Subscriber::kNoWorker);
  one->Enter(4, nullptr);
  EXPECT_EQ(put(), 4u);
}

}  // namespace
}  // namespace seganet
