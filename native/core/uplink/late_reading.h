// Decides whether the acknowledgments of a session may be read late (DirectLine).
#ifndef SEGANET_CORE_UPLINK_LATE_READING_H_
#define SEGANET_CORE_UPLINK_LATE_READING_H_

#include <cstdint>

#include "core/uplink/express.h"

namespace seganet {

// Reading late saves a wake-up for each acknowledgment. It must not delay anything, and the round
// trip must stay known, so one acknowledgment in a while is read at once.
//
// Thread safety: none. Times are CLOCK_MONOTONIC, us.
class LateReading {
 public:
  static constexpr int64_t kLateUs = 20'000;
  // With fewer packets in that time, reading late saves nothing.
  static constexpr uint64_t kLeastPackets = 2;
  // After a packet whose acknowledgment is awaited: the next one is probably near, and must not
  // wait for a thread that looks.
  static constexpr int64_t kAwaitedUs = 1'000'000;
  // How long the round trip counts as known.
  static constexpr int64_t kSampleUs = 100'000;

  // Call it after each read. Returns true if the next read may come kLateUs later.
  bool MayRest(const Express& express, int64_t now_us) {
    const int64_t awaited_us = express.awaited_us();
    return IsWorthIt(express, now_us) && express.is_patient() &&
           (awaited_us == 0 || now_us - awaited_us >= kAwaitedUs);
  }

  // Returns true if the next read may come with the next packet, BriefReading::kBriefUs later at
  // most, although something may wait for an acknowledgment.
  bool MayPause(const Express& express, int64_t now_us) {
    return IsWorthIt(express, now_us) && express.is_roomy() && !express.is_prompt();
  }

 private:
  // True if there are packets enough, and the round trip is known.
  bool IsWorthIt(const Express& express, int64_t now_us) {
    Count(express.window().sent(), now_us);
    return is_busy_ && now_us - express.sampled_us() < kSampleUs;
  }
  // Measures the rate of packets.
  void Count(uint64_t sent, int64_t now_us) {
    const int64_t passed_us = now_us - since_us_;
    if (passed_us < kLateUs) return;
    is_busy_ = static_cast<double>(sent - sent_before_) * static_cast<double>(kLateUs) >=
               static_cast<double>(kLeastPackets) * static_cast<double>(passed_us);
    since_us_ = now_us;
    sent_before_ = sent;
  }

  int64_t since_us_ = 0;
  uint64_t sent_before_ = 0;
  bool is_busy_ = false;
};

}  // namespace seganet

#endif  // SEGANET_CORE_UPLINK_LATE_READING_H_
