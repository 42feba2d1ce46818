// Latency histogram with logarithmic buckets, eight per power of two: quantiles are within 1/8 of
// the true value.
#ifndef SEGANET_CORE_BASE_HISTOGRAM_H_
#define SEGANET_CORE_BASE_HISTOGRAM_H_

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

namespace seganet {

// Values are microseconds, 0 to about 2^36 (19 h). Larger values count as the maximum, negative
// ones as 0.
//
// Thread safety: any member from any thread. Relaxed: readers need recent values, and no ordering
// between them.
class Histogram {
 public:
  void Add(int64_t us) {
    const uint64_t value = us < 0 ? 0 : static_cast<uint64_t>(us);
    buckets_[Index(value)].fetch_add(1, std::memory_order_relaxed);
    count_.fetch_add(1, std::memory_order_relaxed);
    uint64_t max = max_.load(std::memory_order_relaxed);
    while (value > max && !max_.compare_exchange_weak(max, value, std::memory_order_relaxed)) {
    }
  }

  uint64_t Count() const { return count_.load(std::memory_order_relaxed); }
  uint64_t Max() const { return max_.load(std::memory_order_relaxed); }

  // Returns the upper edge of the bucket that holds quantile q (0 < q <= 1), at most Max(); 0 if
  // the histogram is empty.
  uint64_t Quantile(double q) const {
    const uint64_t count = Count();
    if (count == 0) return 0;
    auto rank = static_cast<uint64_t>(q * static_cast<double>(count) + 0.999999);
    if (rank < 1) rank = 1;
    uint64_t seen = 0;
    for (size_t i = 0; i < kBuckets; ++i) {
      seen += buckets_[i].load(std::memory_order_relaxed);
      if (seen >= rank) return UpperEdge(i) < Max() ? UpperEdge(i) : Max();
    }
    return Max();
  }

 private:
  static constexpr unsigned kSub = 3;  // 2^3 buckets per power of two
  static constexpr unsigned kMaxBits = 36;
  static constexpr size_t kBuckets = (kMaxBits - kSub + 1) << kSub;

  static size_t Index(uint64_t value) {
    if (value >> kMaxBits) value = (uint64_t{1} << kMaxBits) - 1;
    if (value < (1u << kSub)) return value;
    const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - 1 - kSub;
    return (size_t{shift + 1} << kSub) + ((value >> shift) & ((1u << kSub) - 1));
  }
  static uint64_t UpperEdge(size_t index) {
    if (index < (1u << kSub)) return index;
    const unsigned shift = static_cast<unsigned>(index >> kSub) - 1;
    const uint64_t low = ((uint64_t{1} << kSub) + (index & ((1u << kSub) - 1))) << shift;
    return low + (uint64_t{1} << shift) - 1;
  }

  std::array<std::atomic<uint64_t>, kBuckets> buckets_{};
  std::atomic<uint64_t> count_{0};
  std::atomic<uint64_t> max_{0};
};

}  // namespace seganet

#endif  // SEGANET_CORE_BASE_HISTOGRAM_H_
