#include "core/queue/selection.h"

#include <algorithm>

namespace seganet {
namespace {

// Keeps the rounding small; 64 bits last for 16 PiB of weight 1.
constexpr uint64_t kPassUnits = 1024;

}  // namespace

uint64_t Selection::StartOf(uint8_t record_class) const {
  return std::max(pass_[record_class], now_);
}

uint8_t Selection::Best(ClassMask waiting) const {
  if (waiting & MaskOf(kCritical)) return kCritical;
  uint8_t best = 0;
  for (uint8_t c = kHigh; c <= kClasses; ++c) {
    if (!(waiting & MaskOf(c))) continue;
    if (best == 0 || StartOf(c) < StartOf(best)) best = c;
  }
  return best;
}

void Selection::Pay(uint8_t record_class, size_t bytes, int64_t waited_us) {
  if (record_class == kCritical) return;
  now_ = StartOf(record_class);
  pass_[record_class] = now_ + bytes * kPassUnits / WeightOf(record_class, waited_us);
}

uint32_t Selection::WeightOf(uint8_t record_class, int64_t waited_us) const {
  const auto& weights = options_.weights;
  const bool aged = options_.aging_us > 0 && waited_us > options_.aging_us;
  if (!aged || record_class == kHigh) return weights[record_class];
  const uint32_t above = std::min(weights[record_class - 1], weights[kHigh]);
  return std::max(weights[record_class], above);
}

}  // namespace seganet
