#include "core/queue/selection.h"

#include <algorithm>

namespace seganet {
namespace {

// Units of a pass per byte, to keep rounding errors small. 64 bits suffice for 16 PiB at weight 1.
constexpr uint64_t kPassUnits = 1024;

}  // namespace

uint64_t Selection::Cost(uint8_t record_class, size_t bytes) const {
  return bytes * kPassUnits / options_.weights[record_class];
}

// Returns the lowest pass of these classes; UINT64_MAX if there is none.
uint64_t Selection::Lowest(ClassMask classes) const {
  uint64_t lowest = UINT64_MAX;
  for (uint8_t c = kHigh; c <= kClasses; ++c) {
    if (classes & MaskOf(c)) lowest = std::min(lowest, pass_[c]);
  }
  return lowest;
}

uint8_t Selection::Best(ClassMask waiting) const {
  if (waiting & MaskOf(kCritical)) return kCritical;
  uint8_t best = 0;
  for (uint8_t c = kHigh; c <= kClasses; ++c) {
    if (!(waiting & MaskOf(c))) continue;
    if (best == 0 || pass_[c] < pass_[best]) best = c;
  }
  return best;
}

ClassMask Selection::Ahead(ClassMask classes, ClassMask others) const {
  const uint64_t lowest = Lowest(others);
  ClassMask ahead = 0;
  for (uint8_t c = kHigh; c <= kClasses; ++c) {
    if (!(classes & MaskOf(c)) || pass_[c] <= lowest) continue;
    if (pass_[c] - lowest > Cost(c, kLeadBytes)) ahead |= MaskOf(c);
  }
  return ahead;
}

void Selection::Pay(uint8_t record_class, size_t bytes, ClassMask waiting) {
  if (record_class == kCritical) return;
  waiting |= MaskOf(record_class);
  const uint64_t lowest = Lowest(waiting);
  for (uint8_t c = kHigh; c <= kClasses; ++c) {
    if (!(waiting & MaskOf(c))) pass_[c] = std::max(pass_[c], lowest);
  }
  pass_[record_class] += Cost(record_class, bytes);
}

}  // namespace seganet
