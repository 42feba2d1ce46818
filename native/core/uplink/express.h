// The express path of an uplink session: takes batches, writes PUBLISH packets, and releases
// batches that the broker acknowledges, without JavaScript.
//
// It handles the regular case of nodes/lib/uplink/sending/feeder.js by the same rules. In any other
// case (a refusal, backlog, a packet that is too large, a link that is too slow) it changes nothing
// and returns a LeaveReason; the feeder then takes over the packets in flight.
#ifndef SEGANET_CORE_UPLINK_EXPRESS_H_
#define SEGANET_CORE_UPLINK_EXPRESS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/queue/lanes.h"
#include "core/uplink/brief_reading.h"
#include "core/uplink/in_flight_window.h"
#include "core/uplink/publish_writer.h"

namespace seganet {

struct ExpressOptions {
  std::shared_ptr<InFlightWindow>
      window;                    // nothing is in flight, and nobody else uses it meanwhile
  bool is_v5 = false;            // MQTT 5, otherwise 3.1.1
  bool retain_available = true;  // the broker supports RETAIN
  size_t max_packet = SIZE_MAX;  // bytes; a larger packet ends the express path
  // While this many bytes are unsent, only packets of class 1 are started. Class 1 waits only for
  // the window, so its unsent bytes are at most `window` packets.
  size_t max_unsent = SIZE_MAX;
  std::vector<UplinkStage> stages = {};
  std::function<int64_t()> clock = MonotonicUs;
};

// Why the feeder must take over.
enum class LeaveReason : uint8_t {
  kNone,     // no reason
  kStage,    // a batch waits at an unknown stage, or at one that the express path does not serve
  kKind,     // a batch of kind kRecords
  kTopic,    // a batch cannot be a PUBLISH (PublishWriter::Prepare)
  kSize,     // a packet is larger than max_packet
  kBacklog,  // there is backlog to send
  kRefusal,  // the broker refused a packet
  kSlow,     // there was no room for kSlowUs
};

// Counters since construction.
struct ExpressNumbers {
  uint64_t published = 0;      // packets sent for the first time
  uint64_t redelivered = 0;    // packets sent again
  uint64_t acknowledged = 0;   // packets
  uint64_t records = 0;        // records taken
  uint64_t returned = 0;       // packets whose sender had waited for its acknowledgment before
  uint64_t unmatched = 0;      // acknowledged packets that no client subscribes to
  uint32_t largest_taken = 0;  // bytes of the largest acknowledged packet
  double rtt_us = 0;           // smoothed, 0 = unknown
  double least_rtt_us = 0;     // 0 = unknown
  int64_t moved_us = 0;        // time of the last acknowledgment, 0 = never
};

// Thread safety: one thread at a time (DirectLine). Other threads may use the lanes meanwhile.
class Express {
 public:
  // If there is no room for this long, the link is too slow.
  static constexpr int64_t kSlowUs = 100'000;
  // Maximum length of a turn, because a more urgent session or an acknowledgment may wait.
  static constexpr int64_t kTurnUs = 1'000;
  // With more bytes in flight, the memory of acknowledged batches is freed at once.
  static constexpr size_t kPatientBytes = 65'536;

  // REQUIRES: `outlet` has no batch in flight, and no other code takes from it meanwhile.
  Express(std::shared_ptr<Lanes> lanes, Outlet* outlet, ExpressOptions options);

  // Takes the batches for which there is room, and appends their packets to `out`. `unsent`: bytes
  // that the kernel has not accepted. The caller must send `out` regardless of the result. If a
  // batch is encoded or compressed, its turn ends with the packet that takes it beyond kTurnUs.
  LeaveReason Pump(size_t unsent, std::string* out);

  // Acknowledgments are read late from now on, or again at once. Meanwhile no round trip is
  // measured.
  void SetLate(bool is_late) {
    is_late_ = is_late;
    read_us_ = options_.clock();
  }
  // True if nothing is delayed when the acknowledgments of the packets in flight are read late: no
  // device or sender waits for one, no round trip is being measured, and there is ample room.
  bool is_patient() const { return awaited_ == 0 && is_roomy(); }
  // True if no round trip is being measured and there is ample room.
  bool is_roomy() const;
  // True if an acknowledgment of class 1, or one that a message's sender waits for, is in flight.
  bool is_prompt() const { return prompt_ != 0; }
  // Returns when a packet was last sent that a device or sender waits for, 0 = never.
  int64_t awaited_us() const { return awaited_us_; }
  // Returns when a round trip was last measured, 0 = never.
  int64_t sampled_us() const { return sampled_us_; }

  // Handles a PUBACK. If it is a refusal, returns kRefusal and leaves the packet in flight for the
  // feeder.
  LeaveReason Acknowledge(uint16_t id, uint8_t reason_code, int64_t now_us);

  // True if the last Pump() stopped because the window or the kernel's buffer was full. The caller
  // must call Pump() again after an acknowledgment, or when the kernel accepts bytes.
  bool is_blocked() const { return blocked_since_us_ != 0; }
  // True if it stopped because of the unsent bytes although the window has room. If the kernel
  // accepts the appended bytes at once, the caller must call Pump() again.
  bool is_full() const { return is_full_; }
  // True if the last Pump() stopped because its turn was over: there may be more batches.
  bool has_more() const { return has_more_; }
  // Returns when to call Pump() again even if no doorbell rings, CLOCK_MONOTONIC; kNever = never.
  int64_t look_at_us() const { return look_at_us_; }
  // A batch may have arrived: the next idle Pump() raises the demand again.
  void WithdrawDemand() { is_demand_raised_ = false; }

  // Wakes the session's thread.
  void Ring() { lanes_->Ring(outlet_); }
  // Asks a worker of the engine to attend the session (Lanes::Attend).
  bool Attend(std::shared_ptr<DirectSession> session, uint64_t attendance, int fd) {
    return lanes_->Attend(std::move(session), attendance, fd);
  }

  // Returns the batch that was taken although it has no packet, because only its encoded or
  // compressed form shows that the feeder must send it (kTopic, kSize); null = none. It is in
  // flight for the lanes, and Pump() takes nothing after it.
  const uint64_t* unsent_batch() const {
    return unsent_reason_ == LeaveReason::kNone ? nullptr : &unsent_batch_;
  }

  const ExpressNumbers& numbers() const { return numbers_; }
  const InFlightWindow& window() const { return *window_; }

 private:
  struct Attempt;
  bool TakeOne(ClassMask of, int64_t now_us, bool is_full, Attempt* attempt, std::string* out);
  LeaveReason Prepare(const Batch& batch, const UplinkStage& stage, size_t* size);
  void Send(const Batch& batch, size_t size, int64_t now_us, std::string* out);
  void CountAwaited(const Batch& batch, int64_t now_us, Flight* flight);
  int64_t ArrivedUs(const Flight& flight, int64_t now_us) const;
  LeaveReason Idle(int64_t now_us);
  LeaveReason Blocked(int64_t now_us);
  const UplinkStage* StageOf(uint32_t id) const;

  const std::shared_ptr<Lanes> lanes_;
  Outlet* const outlet_;
  const ExpressOptions options_;
  const std::shared_ptr<InFlightWindow> window_;
  PublishWriter writer_;
  ExpressNumbers numbers_;
  uint16_t sample_id_ = 0;  // packet whose round trip is being measured, 0 = none
  bool is_late_ = false;
  int64_t read_us_ = 0;    // with is_late_: when everything that had arrived was read
  uint32_t prompt_ = 0;    // packets in flight that must be acknowledged at once
  uint32_t awaited_ = 0;   // packets in flight whose acknowledgment is awaited
  size_t open_bytes_ = 0;  // of the packets in flight
  // The latest acknowledged senders. One that is overwritten is not noticed when it returns.
  struct Answered {
    uint64_t waiter = 0;
    int64_t at_us = 0;
  };
  std::array<Answered, 64> answered_{};
  int64_t awaited_us_ = 0;
  int64_t sampled_us_ = 0;
  int64_t blocked_since_us_ = 0;
  int64_t look_at_us_ = kNever;
  bool is_demand_raised_ = false;
  bool has_more_ = false;
  bool is_full_ = false;
  uint64_t unsent_batch_ = 0;
  LeaveReason unsent_reason_ = LeaveReason::kNone;
};

}  // namespace seganet

#endif  // SEGANET_CORE_UPLINK_EXPRESS_H_
