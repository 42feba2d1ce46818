// Which of the classes that wait goes next: class 1 before all, the others by their weights.
#ifndef SEGANET_CORE_QUEUE_SELECTION_H_
#define SEGANET_CORE_QUEUE_SELECTION_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/queue/appetite.h"
#include "core/record/record.h"

namespace seganet {

inline constexpr uint32_t kMaxWeight = 1000;
inline constexpr int64_t kDefaultAgingUs = 5'000'000;

constexpr std::array<uint32_t, kClasses + 1> DefaultWeights() {
  std::array<uint32_t, kClasses + 1> weights{};
  for (uint8_t c = kHigh; c <= kClasses; ++c) weights[c] = c == kHigh ? 8 : c == kNormal ? 4 : 1;
  return weights;
}

// Meanings: native/index.d.ts, EngineOptions.
struct SelectionOptions {
  std::array<uint32_t, kClasses + 1> weights = DefaultWeights();  // 1..kMaxWeight; of [1] none
  int64_t aging_us = kDefaultAgingUs;                             // 0 = off
};

// Stride scheduling over bytes (start-time fair queueing): each class has a pass, which a batch
// moves on by its bytes ÷ the class's weight; the class that waits with the lowest pass goes. A
// class that had nothing to send comes back at the present virtual time: it has saved no credit.
//
// Age does not beat weight. Under lasting overload every class has waited for long, so a rank that
// grows with age would make all of them equally urgent, just when their order matters. No class
// starves by weights: while others send, its pass stands still and theirs move on. Age only makes a
// class that waits count with the weight of the one above it.
//
// Thread safety: none.
class Selection {
 public:
  explicit Selection(const SelectionOptions& options) : options_(options) {}

  // Of these classes the one that goes next, 0 = none.
  uint8_t Best(ClassMask waiting) const;

  // A batch of the class goes; the class's oldest record has waited so long.
  // REQUIRES: it was the best.
  void Pay(uint8_t record_class, size_t bytes, int64_t waited_us);

 private:
  uint64_t StartOf(uint8_t record_class) const;
  uint32_t WeightOf(uint8_t record_class, int64_t waited_us) const;

  const SelectionOptions options_;
  std::array<uint64_t, kClasses + 1> pass_{};  // kPassUnits a byte of weight 1
  uint64_t now_ = 0;                           // virtual time: where the last batch began
};

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_SELECTION_H_
