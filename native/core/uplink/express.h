// What a session of the uplink does while all is well: takes batches, writes PUBLISH packets, and
// releases what the broker acknowledges, without JavaScript.
//
// It does the plain part of nodes/lib/uplink/sending/feeder.js by the same rules, and nothing else.
// Whatever wants judgement (a refusal, backlog, a packet too large, a link that is too slow) it
// leaves untouched and says so; the feeder then takes over what is on its way, packet by packet.
#ifndef SEGANET_CORE_UPLINK_EXPRESS_H_
#define SEGANET_CORE_UPLINK_EXPRESS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/queue/lanes.h"
#include "core/uplink/in_flight_window.h"
#include "core/uplink/publish_writer.h"

namespace seganet {

struct ExpressOptions {
  uint32_t window = 1;    // packets in flight at most, 1..Flights::kMaxWindow
  uint32_t reserved = 0;  // of them for class 1 alone
  bool is_v5 = false;
  bool retain_available = true;
  size_t max_packet = SIZE_MAX;  // bytes; a larger one is not its matter
  // Bytes that the kernel has not taken, after which none is begun. Class 1 waits for the window
  // alone: what the kernel has not taken of it is at most `window` packets.
  size_t max_unsent = SIZE_MAX;
  std::vector<UplinkStage> stages = {};
  std::function<int64_t()> clock = MonotonicUs;
};

// Why the feeder has to go on.
enum class Rough : uint8_t {
  kNone,
  kStage,    // a batch waits at a stage that is not known, or not carried
  kKind,     // a batch of single records
  kTopic,    // it cannot stand in a PUBLISH
  kSize,     // larger than max_packet
  kBacklog,  // the log has something to send
  kRefusal,  // the broker refused a packet
  kSlow,     // no room for long
};

// Sums since it began.
struct ExpressNumbers {
  uint64_t published = 0;      // packets sent for the first time
  uint64_t redelivered = 0;    // packets sent again
  uint64_t acknowledged = 0;   // packets
  uint64_t records = 0;        // taken
  uint64_t unmatched = 0;      // of the acknowledged, those that no client had subscribed to
  uint32_t largest_taken = 0;  // bytes of a packet that was acknowledged
  double rtt_us = 0;           // smoothed, 0 = not known
  double least_rtt_us = 0;     // 0 = not known
  int64_t moved_us = 0;        // when the broker last acknowledged something, 0 = never
};

// Thread safety: one thread; the lanes are anybody's.
class Express {
 public:
  // No room for so long is a link that is too slow.
  static constexpr int64_t kSlowUs = 100'000;
  // A turn ends after so long: a more urgent session, or an acknowledgement, may wait.
  static constexpr int64_t kTurnUs = 1'000;

  // The outlet has nothing in flight, and is nobody else's meanwhile.
  Express(std::shared_ptr<Lanes> lanes, Outlet* outlet, ExpressOptions options);

  // Takes what there is room for, and appends its packets to `out`. `unsent`: bytes that the kernel
  // has not taken. What is appended is to be sent whatever it returns.
  Rough Pump(size_t unsent, std::string* out);

  // A PUBACK. One that refuses is kRefusal: the packet is still in flight, for the feeder to judge.
  Rough Acknowledge(uint16_t id, uint8_t reason_code, int64_t now_us);

  // The last Pump() ended for want of room in the window, or of the kernel: acknowledgements, or
  // the kernel, must lead to another.
  bool is_blocked() const { return blocked_since_us_ != 0; }
  // It ended for want of the kernel, and the window has room: if what was appended goes at once,
  // pump again.
  bool is_full() const { return is_full_; }
  // The last Pump() ended because its time was up: there may be more.
  bool has_more() const { return has_more_; }
  // When to pump again though nothing rings, CLOCK_MONOTONIC; kNever = no need.
  int64_t look_at_us() const { return look_at_us_; }
  // Something new may have come.
  void Fed() { is_hunger_told_ = false; }

  const ExpressNumbers& numbers() const { return numbers_; }
  const Flights& flights() const { return flights_; }

 private:
  struct Attempt;
  bool TakeOne(ClassMask of, int64_t now_us, bool is_full, Attempt* attempt, std::string* out);
  Rough Idle(int64_t now_us);
  Rough Blocked(int64_t now_us);
  const UplinkStage* StageOf(uint32_t id) const;

  const std::shared_ptr<Lanes> lanes_;
  Outlet* const outlet_;
  const ExpressOptions options_;
  Flights flights_;
  PublishWriter writer_;
  ExpressNumbers numbers_;
  uint16_t sample_id_ = 0;  // the packet whose round trip is measured, 0 = none
  int64_t blocked_since_us_ = 0;
  int64_t look_at_us_ = kNever;
  bool is_hunger_told_ = false;
  bool has_more_ = false;
  bool is_full_ = false;
};

}  // namespace seganet

#endif  // SEGANET_CORE_UPLINK_EXPRESS_H_
