#include "core/devices/subscribers/subscribers.h"

#include <algorithm>
#include <utility>

#include "core/base/clock.h"
#include "core/base/require.h"

namespace seganet {
namespace {

// Time between two indexes, as a multiple of the CPU time that one takes.
constexpr int64_t kRests = 10;
// Rests that a quiet time saves up, µs: a few subscriptions after it are in force at once, whatever
// their index costs.
constexpr int64_t kSavedRests = 1'000'000;

}  // namespace

Subscribers::Subscribers(const SubscriberLimits& limits) : limits_(limits) {
  shared_.SetLimit(limits.shared_bytes);
  passing_.SetLimit(limits.passing_bytes);
}

std::shared_ptr<Subscriber> Subscribers::Open(Subscriber::Options options) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (all_.size() >= limits_.most) return nullptr;
  auto subscriber = std::make_shared<Subscriber>(std::move(options), limits_, &shared_);
  all_.emplace(subscriber.get(), Interests());
  return subscriber;
}

void Subscribers::Set(const Subscriber* subscriber, Interests interests) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto at = all_.find(subscriber);
  SEGANET_REQUIRE(at != all_.end());
  for (const std::shared_ptr<const Interest>& before : at->second) {
    if (std::find(interests.begin(), interests.end(), before) == interests.end()) {
      before->active.store(false, std::memory_order_relaxed);
    }
  }
  at->second = std::move(interests);
  OnChange();
}

void Subscribers::Close(const Subscriber* subscriber) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto at = all_.find(subscriber);
  if (at == all_.end()) return;
  for (const std::shared_ptr<const Interest>& each : at->second) {
    each->active.store(false, std::memory_order_relaxed);
  }
  all_.erase(at);
  OnChange();
}

// REQUIRES: mutex_ is held.
void Subscribers::OnChange() {
  const bool active =
      std::any_of(all_.begin(), all_.end(), [](const auto& each) { return !each.second.empty(); });
  // An index that nothing matches anymore would keep its subscribers.
  if (!active) index_ = nullptr;
  active_.store(active, std::memory_order_relaxed);
  changes_.fetch_add(1, std::memory_order_release);
}

std::shared_ptr<const SubscriberIndex> Subscribers::Get(uint64_t* seen) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t change = changes_.load(std::memory_order_relaxed);
  const int64_t now_us = MonotonicUs();
  const int64_t next_us = next_us_.load(std::memory_order_relaxed);
  if (indexed_.load(std::memory_order_relaxed) != change && now_us >= next_us) {
    // The time for which the thread does not run is not counted.
    const int64_t begin_us = ThreadCpuUs();
    Interests all;
    for (const auto& [subscriber, interests] : all_) {
      all.insert(all.end(), interests.begin(), interests.end());
    }
    index_ = all.empty() ? nullptr : std::make_shared<const SubscriberIndex>(std::move(all));
    indexed_.store(change, std::memory_order_relaxed);
    const int64_t rest_us = (ThreadCpuUs() - begin_us) * kRests;
    next_us_.store(std::max(next_us, now_us - kSavedRests) + rest_us, std::memory_order_relaxed);
  }
  *seen = indexed_.load(std::memory_order_relaxed);
  return index_;
}

}  // namespace seganet
