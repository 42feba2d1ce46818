// Demand: the classes whose batches the sessions of an uplink could send now. The interface
// between sessions and batchers in adaptive batching.
//
// A session demands a batch when it is up, has room in its window and finds nothing ready. Batchers
// then seal the records that they hold of its classes. Without demand, batches grow. A batcher that
// holds records back calls Wait(); Raise() then returns true, so that the session wakes batchers
// only if one waits.
#ifndef SEGANET_CORE_QUEUE_DEMAND_H_
#define SEGANET_CORE_QUEUE_DEMAND_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "core/base/require.h"
#include "core/record/record.h"

namespace seganet {

// Limits of m, the batch size in bytes, where it is adapted to the link.
inline constexpr uint32_t kMinBatchBytes = 1024;
inline constexpr uint32_t kMaxAdaptiveBytes = 64 * 1024;
// Initial m, before the link was measured.
inline constexpr uint32_t kFirstBatchBytes = 16 * 1024;

// A set of classes: bit c = class c.
using ClassMask = uint32_t;
inline constexpr ClassMask kAllClasses = ((ClassMask{1} << (kClasses + 1)) - 1) & ~ClassMask{1};
constexpr ClassMask MaskOf(uint8_t record_class) { return ClassMask{1} << record_class; }

// Thread safety: any member from any thread. A batcher calls Wait() and then IsRaised() again;
// Raise() sets the demand and then checks for waiting batchers. With sequential consistency, at
// least one of the two sees the other, so a batch and a session never wait for each other. A
// batcher that was woken checks IsRaised() again, because another batcher may have served the
// session first; in that case it calls Wait() again.
class Demand {
 public:
  Demand() { SetBatchBytes(kAllClasses, kFirstBatchBytes); }

  // The session of these classes has room and nothing to send. Returns true if a batcher waits for
  // demand of one of them.
  bool Raise(ClassMask classes) {
    raised_.fetch_or(classes);
    return (waiting_.load() & classes) != 0 && (waiting_.fetch_and(~classes) & classes) != 0;
  }

  // The session has something to send, or is down.
  void Withdraw(ClassMask classes) {
    if (raised_.load(std::memory_order_relaxed) & classes) raised_.fetch_and(~classes);
  }

  bool IsRaised(uint8_t record_class) const { return (raised_.load() & MaskOf(record_class)) != 0; }

  // A batcher holds back records of these classes until there is demand.
  void Wait(ClassMask classes) {
    if ((waiting_.load() & classes) != classes) waiting_.fetch_or(classes);
  }

  // Sets m of the link that serves these classes.
  // REQUIRES: kMinBatchBytes <= bytes <= kMaxAdaptiveBytes.
  void SetBatchBytes(ClassMask classes, uint32_t bytes) {
    SEGANET_REQUIRE(kMinBatchBytes <= bytes && bytes <= kMaxAdaptiveBytes);
    for (uint8_t c = kCritical; c <= kClasses; ++c) {
      if (classes & MaskOf(c)) batch_bytes_[c].store(bytes, std::memory_order_relaxed);
    }
  }
  uint32_t BatchBytes(uint8_t record_class) const {
    return batch_bytes_[record_class].load(std::memory_order_relaxed);
  }

 private:
  std::atomic<ClassMask> raised_{0};
  std::atomic<ClassMask> waiting_{0};
  std::array<std::atomic<uint32_t>, kClasses + 1> batch_bytes_{};
};

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_DEMAND_H_
