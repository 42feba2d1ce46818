// Demand: the classes whose batches the sessions of an uplink could send now, and what their links
// are like. The interface between sessions and batchers in adaptive batching.
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
#include "core/queue/thrift.h"
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

  // Sets what a message costs on the link that serves these classes. Keeps the reserve. Returns
  // true if the link begins or ceases to cost by the byte.
  bool SetCost(ClassMask classes, bool is_metered, uint32_t head_bytes, uint32_t record_bytes) {
    bool is_changed = false;
    for (uint8_t c = kCritical; c <= kClasses; ++c) {
      if (!(classes & MaskOf(c))) continue;
      costs_[c].head_bytes.store(head_bytes, std::memory_order_relaxed);
      costs_[c].record_bytes.store(record_bytes, std::memory_order_relaxed);
      is_changed |= costs_[c].is_metered.exchange(is_metered) != is_metered;
    }
    return is_changed;
  }
  // Sets how long delivery on that link takes at most.
  void SetReserve(ClassMask classes, int64_t us) {
    for (uint8_t c = kCritical; c <= kClasses; ++c) {
      if (classes & MaskOf(c)) costs_[c].reserve_us.store(us, std::memory_order_relaxed);
    }
  }
  LinkCost CostOf(uint8_t record_class) const {
    const Cost& cost = costs_[record_class];
    return {cost.is_metered.load(std::memory_order_relaxed),
            cost.head_bytes.load(std::memory_order_relaxed),
            cost.record_bytes.load(std::memory_order_relaxed),
            cost.reserve_us.load(std::memory_order_relaxed)};
  }

  // Counts the batchers that wait to save bytes: 1 = one more, -1 = one less.
  void AddSaver(int change) { savers_.fetch_add(change, std::memory_order_relaxed); }
  bool has_savers() const { return savers_.load(std::memory_order_relaxed) > 0; }

 private:
  struct Cost {
    std::atomic<bool> is_metered{false};
    std::atomic<uint32_t> head_bytes{kFirstHeadBytes};
    std::atomic<uint32_t> record_bytes{kFirstRecordBytes};
    std::atomic<int64_t> reserve_us{LinkCost::kUnknownReserve};
  };

  std::atomic<ClassMask> raised_{0};
  std::atomic<ClassMask> waiting_{0};
  std::array<std::atomic<uint32_t>, kClasses + 1> batch_bytes_{};
  std::array<Cost, kClasses + 1> costs_{};
  std::atomic<int> savers_{0};
};

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_DEMAND_H_
