// A token bucket: limits the records per second of one device.
#ifndef SEGANET_CORE_LOOP_TOKEN_BUCKET_H_
#define SEGANET_CORE_LOOP_TOKEN_BUCKET_H_

#include <algorithm>
#include <cstdint>

namespace seganet {

// A rate limit: SourceSettings::rate and burst.
struct TokenRate {
  uint32_t per_s = 0;  // 0 = no limit
  uint32_t burst = 0;  // tokens in a full bucket; 0 = the tokens of one second

  bool limited() const { return per_s != 0; }
  int64_t token_ns() const { return (int64_t{1'000'000'000} + per_s - 1) / per_s; }
  int64_t bucket_ns() const { return token_ns() * (burst != 0 ? burst : per_s); }
};

// A bucket is full at first. Its state is the time at which it will be full again, so a device
// costs eight bytes and nothing has to be refilled. A changed rate applies from the next call on.
//
// Thread safety: none. Times are microseconds of one monotonic clock.
class TokenBucket {
 public:
  // Takes a token and returns true if there is one. For a record that can still be refused.
  bool Take(const TokenRate& rate, int64_t now_us) {
    if (WaitUs(rate, now_us) > 0) return false;
    Pay(rate, now_us);
    return true;
  }

  // Takes a token, even if there is none. For a record that has already been read. The debt is at
  // most one bucket, so a device that was read once too often is not locked out for longer than
  // that.
  void Pay(const TokenRate& rate, int64_t now_us) {
    if (!rate.limited()) return;
    const int64_t now_ns = now_us * 1000;
    full_ns_ =
        std::min(std::max(full_ns_, now_ns) + rate.token_ns(), now_ns + 2 * rate.bucket_ns());
  }

  // Returns the time until there is a token, rounded up; 0 = now.
  int64_t WaitUs(const TokenRate& rate, int64_t now_us) const {
    if (!rate.limited()) return 0;
    const int64_t now_ns = now_us * 1000;
    const int64_t full_ns = std::min(full_ns_, now_ns + 2 * rate.bucket_ns());
    const int64_t wait_ns = full_ns + rate.token_ns() - rate.bucket_ns() - now_ns;
    return wait_ns <= 0 ? 0 : (wait_ns + 999) / 1000;
  }

 private:
  int64_t full_ns_ = 0;
};

}  // namespace seganet

#endif  // SEGANET_CORE_LOOP_TOKEN_BUCKET_H_
