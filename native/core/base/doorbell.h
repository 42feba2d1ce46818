// Wakes the thread that serves a queue. One ring covers everything that was queued before it.
#ifndef SEGANET_CORE_BASE_DOORBELL_H_
#define SEGANET_CORE_BASE_DOORBELL_H_

#include <atomic>

namespace seganet {

// Thread safety: Ring from any thread, Answer from the thread that serves the queue.
class Doorbell {
 public:
  virtual ~Doorbell() = default;

  // Wakes the thread. Calls into its loop only if the last ring was answered.
  void Ring() {
    if (!rung_.exchange(true, std::memory_order_acq_rel)) Call();
  }

  // Wakes the thread even if it has not answered the last ring.
  void RingAgain() {
    rung_.store(true, std::memory_order_release);
    Call();
  }

  // Does the same as Ring for something urgent: a thread that naps serves it at once.
  void RingUrgent() {
    Ring();
    EndNap();
  }

  // Acknowledges the ring. Call it before reading the queue, so that later arrivals ring again.
  void Answer() { rung_.exchange(false, std::memory_order_acq_rel); }

 private:
  // Wakes the thread that serves the queue.
  virtual void Call() = 0;
  // Ends a nap of the thread (base/nap.h).
  virtual void EndNap() {}

  std::atomic<bool> rung_{false};
};

}  // namespace seganet

#endif  // SEGANET_CORE_BASE_DOORBELL_H_
