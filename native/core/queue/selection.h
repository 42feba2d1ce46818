// Selects the next of the waiting classes: class 1 before all others, the others by weight.
#ifndef SEGANET_CORE_QUEUE_SELECTION_H_
#define SEGANET_CORE_QUEUE_SELECTION_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/queue/demand.h"
#include "core/record/record.h"

namespace seganet {

// Limit and defaults of SelectionOptions.
inline constexpr uint32_t kMaxWeight = 1000;
inline constexpr int64_t kDefaultAgingUs = 5'000'000;

constexpr std::array<uint32_t, kClasses + 1> DefaultWeights() {
  std::array<uint32_t, kClasses + 1> weights{};
  for (uint8_t c = kHigh; c <= kClasses; ++c) weights[c] = c == kHigh ? 8 : c == kNormal ? 4 : 1;
  return weights;
}

// Maximum lead of a class over a class that waits in another session, in bytes of its own: the
// largest adaptive batch. A smaller lead would stop a session between the batches of another one. A
// larger lead would only cause longer pauses on a slow link, because it is used up once and not
// refilled while both sessions have something to send. It need not cover a window: a held session
// waits for one that has batches but no room, and each acknowledgment that makes room there lets
// both continue.
inline constexpr size_t kLeadBytes = kMaxAdaptiveBytes;

struct SelectionOptions {
  // Share of each class, in bytes, of the capacity that class 1 leaves when several classes wait,
  // across all sessions. 1..kMaxWeight; [1] is unused.
  std::array<uint32_t, kClasses + 1> weights = DefaultWeights();
  // A class other than 1 that has waited this long without sending anything sends one batch ahead
  // of all other classes of its session, including class 1. 0 = off.
  int64_t aging_us = kDefaultAgingUs;
};

// Stride scheduling over bytes (start-time fair queueing): each class has a pass, and a batch
// advances it by its bytes divided by the class's weight. The waiting class with the lowest pass is
// next. The pass of a class that does not wait advances with the others, so the class saves no
// credit.
//
// Several sessions share one set of passes, and each takes the best of its own classes when it has
// room. To enforce the weights between sessions, a class that is too far ahead of a class that
// waits elsewhere is held (Ahead).
//
// Age does not beat weight. Under permanent overload every class has waited long, so a rank that
// grows with age would make all classes equally urgent just when their order matters. Weights alone
// starve no class: while others send, their passes advance and its own does not. Two cases need
// more: class 1, and a session that cannot send. For these, Lanes serve one batch of a class that
// sent nothing for aging_us, regardless of its pass (turns.cc).
//
// Thread safety: none.
class Selection {
 public:
  explicit Selection(const SelectionOptions& options) : options_(options) {}

  // Returns the next of these classes, 0 = none.
  uint8_t Best(ClassMask waiting) const;

  // Returns those of `classes` that are ahead of one of `others` by more than kLeadBytes. Never
  // includes class 1.
  ClassMask Ahead(ClassMask classes, ClassMask others) const;

  // Counts a batch of the class. `waiting` are all classes that could have been served, in this or
  // another session.
  void Pay(uint8_t record_class, size_t bytes, ClassMask waiting);

 private:
  uint64_t Cost(uint8_t record_class, size_t bytes) const;
  uint64_t Lowest(ClassMask classes) const;

  const SelectionOptions options_;
  std::array<uint64_t, kClasses + 1> pass_{};  // kPassUnits per byte at weight 1
};

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_SELECTION_H_
