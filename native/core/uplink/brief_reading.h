// Decides whether a session pays that reads awaited acknowledgments a little late (DirectLine).
#ifndef SEGANET_CORE_UPLINK_BRIEF_READING_H_
#define SEGANET_CORE_UPLINK_BRIEF_READING_H_

#include <algorithm>
#include <cstdint>

namespace seganet {

// A worker that sends often need not wake up for each acknowledgment: it reads when it sends the
// next packet, at most kBriefUs after the previous read. That time is a pause. A pause pays if a
// packet ends it. If time ends it, it has delayed a device for nothing. So does a pause while
// senders wait for their acknowledgments before they send again: they would send more without it.
//
// A pause that pays earns its length, one that time ended costs twice its length, and a sender that
// waited costs kReturnUs. Time counts, not the number of pauses: devices that all wait for time to
// end a pause send a burst of packets after each. When the credit is used up, there are no pauses
// for kEagerUs.
//
// Thread safety: none. Times are CLOCK_MONOTONIC, us.
class BriefReading {
 public:
  static constexpr int64_t kBriefUs = 4'000;
  static constexpr int64_t kReturnUs = 3'000;
  static constexpr int64_t kEagerUs = 1'000'000;
  // Highest credit: a load that changes is noticed after 13 pauses.
  static constexpr int64_t kMostUs = 100'000;

  bool May(int64_t now_us) const { return now_us >= eager_until_us_; }

  void Begin(int64_t now_us) { began_us_ = now_us; }
  // Ends the pause. `is_over`: its time is over.
  void End(bool is_over, int64_t now_us) {
    const int64_t length_us = now_us - began_us_;
    Add(is_over ? -2 * length_us : length_us, now_us);
  }
  // Senders have sent again within kBriefUs of their acknowledgment.
  void Return(uint64_t senders, int64_t now_us) {
    Add(-kReturnUs * static_cast<int64_t>(senders), now_us);
  }

 private:
  void Add(int64_t us, int64_t now_us) {
    credit_us_ = std::min(credit_us_ + us, kMostUs);
    if (credit_us_ >= 0) return;
    credit_us_ = 0;
    eager_until_us_ = now_us + kEagerUs;
  }

  int64_t began_us_ = 0;
  int64_t credit_us_ = 0;
  int64_t eager_until_us_ = 0;
};

}  // namespace seganet

#endif  // SEGANET_CORE_UPLINK_BRIEF_READING_H_
