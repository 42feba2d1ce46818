// A sleep of a thread that urgent events end early.
#ifndef SEGANET_CORE_BASE_NAP_H_
#define SEGANET_CORE_BASE_NAP_H_

#include <atomic>
#include <cstdint>

namespace seganet {

// A busy thread naps so that one wake-up serves several events. What must not wait for that ends
// the nap: a call of End, or data on a descriptor that is watched. The thread then serves
// everything that is ready.
//
// Early ends are limited to kEndsPerS, and to kBurst at a time, because each costs a wake-up. Over
// that limit, a nap lasts its full time.
//
// If the kernel gives no descriptors for it, or this is not Linux, no nap ends early.
//
// Thread safety: End from any thread, everything else from the thread that naps.
class Nap {
 public:
  static constexpr int64_t kEndsPerS = 500;
  static constexpr int64_t kBurst = 50;

  Nap();
  ~Nap();
  Nap(const Nap&) = delete;
  Nap& operator=(const Nap&) = delete;

  // Sleeps for `us`, or less if something urgent happens meanwhile or has happened since Begin.
  // Returns the time slept, us. A signal may end the sleep, too.
  int64_t Sleep(int64_t us);

  // The thread begins to serve what is ready: earlier calls of End are served by that. An exchange,
  // because a store could take effect only after reads that follow it, and so erase a call of End
  // whose event these reads did not see.
  void Begin() { state_.exchange(kServing, std::memory_order_acq_rel); }

  // Ends the nap, or prevents the next one. Costs one atomic exchange unless the thread naps.
  void End() {
    if (state_.exchange(kAsked, std::memory_order_acq_rel) == kAsleep) Signal();
  }

  // Data on the socket `fd` ends a nap until Unwatch, which must come before `fd` is closed.
  // Returns false if the kernel does not watch it.
  bool Watch(int fd);
  void Unwatch(int fd);

  // Returns the number of naps that ended early.
  uint64_t ended() const { return ended_; }

 private:
  enum State : int { kServing, kAsked, kAsleep };

  void Signal();
  bool MayEnd(int64_t now_us);

  int epoll_ = -1;
  int event_ = -1;  // an eventfd in epoll_, written by Signal
  std::atomic<int> state_{kServing};
  uint64_t ended_ = 0;
  int64_t budget_us_ = 0;  // when all early ends that were used up are available again
};

}  // namespace seganet

#endif  // SEGANET_CORE_BASE_NAP_H_
