// What the sessions of an uplink could send now, told to the batchers: the seam of adaptive
// batching.
//
// A session that is up, has room in its window and finds nothing ready is hungry: the batchers that
// hold records of its classes seal them. While it is not, batches grow. A batcher that holds some
// back says so with Wait(), and the consumer that becomes hungry learns from Hungry() that there is
// somebody to wake: nobody is woken for nothing.
#ifndef SEGANET_CORE_QUEUE_DEMAND_H_
#define SEGANET_CORE_QUEUE_DEMAND_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "core/record/record.h"

namespace seganet {

// Limits of the size that a link gets by itself.
inline constexpr uint32_t kMinBatchBytes = 1024;
inline constexpr uint32_t kMaxAdaptiveBytes = 64 * 1024;
// Before anything is known of the link.
inline constexpr uint32_t kFirstBatchBytes = 16 * 1024;

// A set of classes: bit c = class c.
using ClassMask = uint32_t;
inline constexpr ClassMask kAllClasses = ((ClassMask{1} << (kClasses + 1)) - 1) & ~ClassMask{1};
constexpr ClassMask MaskOf(uint8_t record_class) { return ClassMask{1} << record_class; }

// Thread safety: any member from any thread. A batcher does Wait() and then asks IsHungry() again;
// the consumer sets its mark and then looks for waiting ones: in sequential consistency one of the
// two sees the other, so no batch waits for a session that waits for it. Who is woken asks anew:
// another batcher may have fed the session first, and then its next Hungry() tells.
class Appetite {
 public:
  Appetite() { SetBatchBytes(kAllClasses, kFirstBatchBytes); }

  // The session of these classes has room and nothing to send. True: a batcher waits for one of
  // them.
  bool Hungry(ClassMask classes) {
    hungry_.fetch_or(classes);
    return (waiting_.load() & classes) != 0 && (waiting_.fetch_and(~classes) & classes) != 0;
  }

  // It has something now, or has gone.
  void Fed(ClassMask classes) {
    if (hungry_.load(std::memory_order_relaxed) & classes) hungry_.fetch_and(~classes);
  }

  bool IsHungry(uint8_t record_class) const { return (hungry_.load() & MaskOf(record_class)) != 0; }

  // A batcher holds records of these classes back until their session is hungry.
  void Wait(ClassMask classes) {
    if ((waiting_.load() & classes) != classes) waiting_.fetch_or(classes);
  }

  // m of the link of these classes. REQUIRES: kMinBatchBytes <= bytes <= kMaxAdaptiveBytes.
  void SetBatchBytes(ClassMask classes, uint32_t bytes) {
    for (uint8_t c = kCritical; c <= kClasses; ++c) {
      if (classes & MaskOf(c)) batch_bytes_[c].store(bytes, std::memory_order_relaxed);
    }
  }
  uint32_t BatchBytes(uint8_t record_class) const {
    return batch_bytes_[record_class].load(std::memory_order_relaxed);
  }

 private:
  std::atomic<ClassMask> hungry_{0};
  std::atomic<ClassMask> waiting_{0};
  std::array<std::atomic<uint32_t>, kClasses + 1> batch_bytes_{};
};

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_DEMAND_H_
