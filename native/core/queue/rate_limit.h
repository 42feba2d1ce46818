// Limits the records per second that a class sends.
#ifndef SEGANET_CORE_QUEUE_RATE_LIMIT_H_
#define SEGANET_CORE_QUEUE_RATE_LIMIT_H_

#include <algorithm>
#include <cstdint>

namespace seganet {

// Length of a burst: a class that sent nothing for this time may send the records of this time at
// once, and at least one batch.
inline constexpr int64_t kBurstUs = 50'000;

// A token bucket, represented by the time at which it is no longer in debt. A batch may be sent
// once that time has come, and moves it by the cost of its records. A batch of any size can
// therefore be sent, and the long-term rate is exact.
//
// Thread safety: none.
class RateLimit {
 public:
  // Sets the limit; 0 = no limit.
  void SetRate(uint32_t records_per_s) { per_s_ = records_per_s; }

  // True if a batch may be sent.
  bool Ready(int64_t now_us) const { return per_s_ == 0 || free_ns_ <= now_us * 1000; }

  // Returns the time until Ready, rounded up.
  int64_t WaitUs(int64_t now_us) const {
    return Ready(now_us) ? 0 : (free_ns_ - now_us * 1000 + 999) / 1000;
  }

  // Returns the time since which Ready has been true. REQUIRES: Ready is true at present.
  int64_t ReadySinceUs() const { return per_s_ == 0 ? 0 : free_ns_ / 1000; }

  // Counts the records of a batch that is sent.
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
