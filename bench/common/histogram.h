#ifndef SEGANET_BENCH_COMMON_HISTOGRAM_H_
#define SEGANET_BENCH_COMMON_HISTOGRAM_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace bench {

// Log-linear histogram of microseconds: 128 buckets per octave, so a percentile is at most 0.8 %
// too high. Negative values (a clock step) count as 0.
class Histogram {
 public:
  Histogram() : counts_(kOctaves * kSub, 0) {}

  void Add(int64_t value) {
    uint64_t v = value < 0 ? 0 : static_cast<uint64_t>(value);
    ++counts_[std::min(Index(v), counts_.size() - 1)];
    ++count_;
    max_ = std::max(max_, v);
  }

  uint64_t count() const { return count_; }
  uint64_t max() const { return max_; }

  // Returns the smallest bucket end that at least `fraction` of the values do not exceed.
  uint64_t Percentile(double fraction) const {
    if (count_ == 0) return 0;
    uint64_t rank = static_cast<uint64_t>(fraction * static_cast<double>(count_));
    if (static_cast<double>(rank) < fraction * static_cast<double>(count_)) ++rank;
    rank = std::max<uint64_t>(rank, 1);
    uint64_t seen = 0;
    for (size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (seen >= rank) return std::min(max_, End(i));
    }
    return max_;
  }

  // Returns the JSON. `buckets` adds [[end of the bucket, count],…] for sums and distributions.
  std::string Json(bool buckets = false) const {
    std::string out =
        "{\"count\":" + std::to_string(count_) + ",\"p50\":" + std::to_string(Percentile(0.5)) +
        ",\"p90\":" + std::to_string(Percentile(0.9)) +
        ",\"p99\":" + std::to_string(Percentile(0.99)) +
        ",\"p999\":" + std::to_string(Percentile(0.999)) + ",\"max\":" + std::to_string(max_);
    if (buckets) out += ",\"buckets\":" + Buckets();
    return out + "}";
  }

 private:
  std::string Buckets() const {
    std::string out = "[";
    for (size_t i = 0; i < counts_.size(); ++i) {
      if (counts_[i] == 0) continue;
      if (out.size() > 1) out += ",";
      out += "[" + std::to_string(std::min(max_, End(i))) + "," + std::to_string(counts_[i]) + "]";
    }
    return out + "]";
  }

  static constexpr size_t kSubBits = 7;
  static constexpr size_t kSub = size_t{1} << kSubBits;
  static constexpr size_t kOctaves = 36;

  static size_t Index(uint64_t v) {
    if (v < kSub) return v;
    size_t shift = static_cast<size_t>(std::bit_width(v)) - kSubBits - 1;
    return (shift + 1) * kSub + ((v >> shift) - kSub);
  }
  static uint64_t End(size_t i) {
    if (i < kSub) return i;
    size_t shift = i / kSub - 1;
    return ((static_cast<uint64_t>(i % kSub) + kSub + 1) << shift) - 1;
  }

  std::vector<uint64_t> counts_;
  uint64_t count_ = 0;
  uint64_t max_ = 0;
};

}  // namespace bench

#endif  // SEGANET_BENCH_COMMON_HISTOGRAM_H_
