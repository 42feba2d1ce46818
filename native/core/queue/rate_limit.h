// How many records a second a class may send.
#ifndef SEGANET_CORE_QUEUE_RATE_LIMIT_H_
#define SEGANET_CORE_QUEUE_RATE_LIMIT_H_

#include <algorithm>
#include <cstdint>

namespace seganet {

// What a class may send at once after it sent nothing for as long; at least one batch.
inline constexpr int64_t kBurstUs = 50'000;

// A token bucket, kept as the time at which it is not in debt any more: a batch may leave while
// that is not ahead, and puts it off by what its records cost. So a batch of any size passes, and
// in the long run the rate is exact. Thread safety: none.
class RateLimit {
 public:
  // 0 = no limit.
  void SetRate(uint32_t records_per_s) { per_s_ = records_per_s; }

  bool Ready(int64_t now_us) const { return per_s_ == 0 || free_ns_ <= now_us * 1000; }

  // Until Ready, rounded up.
  int64_t WaitUs(int64_t now_us) const {
    return Ready(now_us) ? 0 : (free_ns_ - now_us * 1000 + 999) / 1000;
  }

  // Since when it has been so. REQUIRES: Ready.
  int64_t ReadySinceUs() const { return per_s_ == 0 ? 0 : free_ns_ / 1000; }

  void Pay(uint32_t records, int64_t now_us) {
    if (per_s_ == 0) return;
    const int64_t cost_ns = (records * kSecondNs + per_s_ - 1) / per_s_;
    free_ns_ = std::max(free_ns_, (now_us - kBurstUs) * 1000) + cost_ns;
  }

 private:
  static constexpr int64_t kSecondNs = 1'000'000'000;

  uint32_t per_s_ = 0;
  int64_t free_ns_ = INT64_MIN;
};

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_RATE_LIMIT_H_
