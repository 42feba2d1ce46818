// Which of the classes that wait goes next: class 1 before all, the others by their weights.
#ifndef SEGANET_CORE_QUEUE_SELECTION_H_
#define SEGANET_CORE_QUEUE_SELECTION_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/queue/demand.h"
#include "core/record/record.h"

namespace seganet {

inline constexpr uint32_t kMaxWeight = 1000;
inline constexpr int64_t kDefaultAgingUs = 5'000'000;

constexpr std::array<uint32_t, kClasses + 1> DefaultWeights() {
  std::array<uint32_t, kClasses + 1> weights{};
  for (uint8_t c = kHigh; c <= kClasses; ++c) weights[c] = c == kHigh ? 8 : c == kNormal ? 4 : 1;
  return weights;
}

// A class may be so many of its own bytes ahead of one that waits in another session: the largest
// adaptive batch. Less would stop a session between the batches of another one; more would only be
// longer pauses on a slow link, because the lead is used up once and not filled again while both
// have something to send. It need not be a window: who is held waits for one that has something to
// send and no room itself, and each acknowledgement which makes room there lets both go on.
inline constexpr size_t kLeadBytes = kMaxAdaptiveBytes;

// Meanings: native/index.d.ts, EngineOptions.
struct SelectionOptions {
  std::array<uint32_t, kClasses + 1> weights = DefaultWeights();  // 1..kMaxWeight; of [1] none
  int64_t aging_us = kDefaultAgingUs;                             // 0 = off
};

// Stride scheduling over bytes (start-time fair queueing): each class has a pass, which a batch
// moves on by its bytes ÷ the class's weight; the class that waits with the lowest pass goes. A
// class that has nothing to send is moved along with those that have: it saves no credit.
//
// Several sessions have one set of passes and each takes the best of its own classes, when it has
// room. So that the weights hold among them too, a class that is too far ahead of one that waits
// elsewhere is held (Ahead).
//
// Age does not beat weight. Under lasting overload every class has waited for long, so a rank that
// grows with age would make all of them equally urgent, just when their order matters. No class
// starves by weights: while others send, its pass stands still and theirs move on. What weights
// cannot help against is class 1, and a session that is not let through: for that Lanes serve a
// class that got nothing for aging_us, one batch, whatever its pass (lanes_turns.cc).
//
// Thread safety: none.
class Selection {
 public:
  explicit Selection(const SelectionOptions& options) : options_(options) {}

  // Of these classes the one that goes next, 0 = none.
  uint8_t Best(ClassMask waiting) const;

  // Those of `classes` that are ahead of one of `others` by more than their lead. Never class 1.
  ClassMask Ahead(ClassMask classes, ClassMask others) const;

  // A batch of the class goes; `waiting` are all that could have gone, here or elsewhere.
  void Pay(uint8_t record_class, size_t bytes, ClassMask waiting);

 private:
  uint64_t Cost(uint8_t record_class, size_t bytes) const;
  uint64_t Lowest(ClassMask classes) const;

  const SelectionOptions options_;
  std::array<uint64_t, kClasses + 1> pass_{};  // kPassUnits a byte of weight 1
};

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_SELECTION_H_
