// The local subscribers of an engine.
#ifndef SEGANET_CORE_DEVICES_SUBSCRIBERS_SUBSCRIBERS_H_
#define SEGANET_CORE_DEVICES_SUBSCRIBERS_SUBSCRIBERS_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/devices/subscribers/subscriber.h"
#include "core/devices/subscribers/subscriber_index.h"
#include "core/loop/memory_share.h"

namespace seganet {

using Interests = std::vector<std::shared_ptr<const Interest>>;

// Workers read an immutable index, which the first worker that needs it makes after a change. At
// most a tenth of the time is spent on that, and 100 ms after a quiet time: a flood of
// subscriptions delays only the subscriptions.
//
// Thread safety: any thread.
class Subscribers {
 public:
  explicit Subscribers(const SubscriberLimits& limits = {});
  Subscribers(const Subscribers&) = delete;
  Subscribers& operator=(const Subscribers&) = delete;

  // Returns null if there are as many as SubscriberLimits::most.
  std::shared_ptr<Subscriber> Open(Subscriber::Options options);
  // Replaces the subscriptions of `subscriber`. Those that leave end at once. REQUIRES: it is open.
  void Set(const Subscriber* subscriber, Interests interests);
  // The subscriber's connection has ended.
  void Close(const Subscriber* subscriber);

  // False if nobody has a subscription: the only cost of a record then.
  bool active() const { return active_.load(std::memory_order_relaxed); }
  // Returns the number of the latest change.
  uint64_t changes() const { return changes_.load(std::memory_order_acquire); }
  // True if Get may return a newer index than that of change `seen`.
  bool HasNewer(uint64_t seen, int64_t now_us) const {
    return indexed_.load(std::memory_order_relaxed) != seen ||
           (changes_.load(std::memory_order_acquire) != seen &&
            now_us >= next_us_.load(std::memory_order_relaxed));
  }
  // Returns the index, null if nobody has a subscription, and its change in `*seen`.
  std::shared_ptr<const SubscriberIndex> Get(uint64_t* seen);

  MemoryShare* passing() { return &passing_; }

 private:
  void OnChange();

  const SubscriberLimits limits_;
  MemoryShare shared_;   // SubscriberLimits::shared_bytes
  MemoryShare passing_;  // SubscriberLimits::passing_bytes
  std::atomic<bool> active_{false};
  std::atomic<uint64_t> changes_{0};
  std::atomic<uint64_t> indexed_{0};  // the change of index_
  std::atomic<int64_t> next_us_{0};   // when an index may be made again

  std::mutex mutex_;
  std::map<const Subscriber*, Interests> all_;  // guarded by mutex_, as the next one
  std::shared_ptr<const SubscriberIndex> index_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_SUBSCRIBERS_SUBSCRIBERS_H_
