// The queue in front of one uplink: a lane (FIFO) of sealed batches for each class, and what was
// taken from them and not yet acknowledged by the cloud.
//
// A batch crosses from a worker to the uplink's thread here, under a mutex: that is once a batch,
// not once a record.
#ifndef SEGANET_CORE_QUEUE_LANES_H_
#define SEGANET_CORE_QUEUE_LANES_H_

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

#include "core/base/counters.h"
#include "core/base/doorbell.h"
#include "core/base/histogram.h"
#include "core/queue/batch.h"
#include "core/queue/budget.h"

namespace seganet {

struct LanesOptions {
  // A class that has waited this long is served as if one class more urgent, after twice that long
  // two, but never before class 1: no class starves.
  int64_t aging_us = 5'000'000;
};

// Latency from arrival at the gateway to the cloud's acknowledgement, by class; shared by the lanes
// of an engine.
using LatencyByClass = std::array<Histogram, kClasses + 1>;

// Thread safety: any member from any thread. Lanes keep `budget` and `latency` alive by their
// owner's promise.
class Lanes {
 public:
  // Told of a batch that leaves for good: delivered or not. Called without the mutex.
  using OnDone = std::function<void(const Batch&, bool delivered)>;

  Lanes(const LanesOptions& options, Budget* budget, LatencyByClass* latency, OnDone on_done)
      : options_(options), budget_(budget), latency_(latency), on_done_(std::move(on_done)) {}

  // Puts a batch behind those of its class and rings the consumer.
  void Push(BatchPtr batch);

  // Class of the batch that Take would take at `now_us`, 0 = none.
  uint8_t Best(int64_t now_us);

  // Shows the best batch to `copy` and counts it as in flight when that returns true.
  // Returns false when there is none or `copy` does not want it.
  bool Take(int64_t now_us, const std::function<bool(const Batch&)>& copy);

  // The cloud acknowledged batch `id`, or it is refused for good. False: no such batch is in
  // flight.
  bool Release(uint64_t id, bool delivered, int64_t now_us);

  // Connects the one consumer; false when there is one already.
  bool Attach(Doorbell* doorbell);

  // Disconnects it: what it took returns to the head of its lanes, in order.
  void Detach();

  // Drops everything that waits or is in flight, counted with `reason`.
  void Clear(Drop reason);

  // Whether some uplink of the plan uses these lanes. Those that nobody wants are cleared ("uplink
  // removed") as soon as no consumer is attached.
  void SetWanted(bool wanted);

  const CounterBlock& counters() const { return counters_; }

 private:
  uint8_t BestLocked(int64_t now_us) const;

  const LanesOptions options_;
  Budget* const budget_;
  LatencyByClass* const latency_;
  const OnDone on_done_;

  std::mutex mutex_;
  uint64_t next_id_ = 1;
  std::array<std::deque<BatchPtr>, kClasses + 1> ready_;
  std::deque<BatchPtr> in_flight_;  // in the order of Take
  Doorbell* doorbell_ = nullptr;
  bool wanted_ = true;
  CounterBlock counters_;  // written under the mutex
};

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_LANES_H_
