// Sends new subscriptions the last values of the devices of one worker, as retained messages.
#ifndef SEGANET_CORE_RUNTIME_LAST_VALUE_SENDER_H_
#define SEGANET_CORE_RUNTIME_LAST_VALUE_SENDER_H_

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <utility>

#include "core/base/clock.h"
#include "core/devices/last_values.h"
#include "core/devices/subscribers/subscriber_fanout.h"
#include "core/loop/loop_thread.h"
#include "core/plan/pipeline.h"

namespace seganet {

// A SUBSCRIBE that asks for the values of one subscription. The workers share it.
struct LastValueRequest {
  static constexpr int64_t kMost = 10'000;

  explicit LastValueRequest(std::shared_ptr<const Interest> of) : interest(std::move(of)) {}

  const std::shared_ptr<const Interest> interest;
  std::atomic<int64_t> left{kMost};  // values
};

// The dependencies of LastValueSender. All objects outlive it.
struct LastValueSenderContext {
  LoopThread* thread;  // the worker, which calls Serve when it is woken
  LastValues* values;
  SubscriberFanout* fanout;
  const Pipeline* pipeline;
};

// A turn sends one portion, to a subscriber that has room in its kept share of memory. Otherwise
// the portion waits here, as a position among the values: values take no memory of records, and
// none is dropped.
//
// The first portion leaves after the worker has begun to pass on the records that match. A portion
// has the values of its moment and follows all records of the worker before it. Therefore no value
// is older than a record of its topic and device before it, and no record is missed. A record may
// come twice, the second time with RETAIN. There are two exceptions. If a device sends both itself
// and through a bridge, two workers may have a value of one topic, and the older one may come last.
// The values of a device that moves to another worker meanwhile may be missed or come twice.
//
// Thread safety: owned by one worker.
class LastValueSender {
 public:
  explicit LastValueSender(const LastValueSenderContext& context) : context_(context) {}
  LastValueSender(const LastValueSender&) = delete;
  LastValueSender& operator=(const LastValueSender&) = delete;

  // Begins, or begins again for a subscription that asked before.
  void Add(std::shared_ptr<LastValueRequest> request);
  // Sends a portion if one is due, and wakes the thread for the next one.
  void Serve();
  // Returns when Serve must be called at the latest.
  int64_t NextDeadline() const { return requests_.empty() || due_us_ == 0 ? kNever : due_us_; }

 private:
  struct Open {
    std::shared_ptr<LastValueRequest> request;
    uint64_t change;  // Subscribers::changes when it was added
    ValueKey after;   // the last key that was looked at
  };
  enum class Progress : uint8_t { kEnded, kSent, kWaits };

  Progress SendPortion(Open* open, int64_t now_us);
  bool MayRead(const Interest& interest, const Device& device) const;

  const LastValueSenderContext context_;
  std::list<Open> requests_;  // the first one is served next
  std::unordered_map<const Interest*, std::list<Open>::iterator> by_interest_;
  int64_t due_us_ = 0;  // 0 = now
  int64_t rest_us_ = 0;
};

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_LAST_VALUE_SENDER_H_
