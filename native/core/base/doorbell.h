// Wakes the thread that serves a queue. One ring covers everything that was put in before it.
#ifndef SEGANET_CORE_BASE_DOORBELL_H_
#define SEGANET_CORE_BASE_DOORBELL_H_

#include <atomic>

namespace seganet {

// Thread safety: Ring from any thread, Answer from the served one.
class Doorbell {
 public:
  virtual ~Doorbell() = default;

  // Costs a call into the other thread's loop only when the last ring has been answered.
  void Ring() {
    if (!rung_.exchange(true, std::memory_order_acq_rel)) Call();
  }

  // To be called before the queue is looked at, so that what comes later rings again.
  void Answer() { rung_.exchange(false, std::memory_order_acq_rel); }

 private:
  virtual void Call() = 0;

  std::atomic<bool> rung_{false};
};

}  // namespace seganet

#endif  // SEGANET_CORE_BASE_DOORBELL_H_
