#include "core/uplink/express.h"

#include <algorithm>
#include <utility>

#include "core/base/require.h"

namespace seganet {
namespace {

// [MQTT 3.4.2.1] Reason codes; those from kFirstRefusal on are refusals.
constexpr uint8_t kNoMatchingSubscribers = 0x10;
constexpr uint8_t kFirstRefusal = 0x80;
// A new round trip counts 1/8 in the smoothed one.
constexpr int kSmoothing = 8;
// Number of packets after which the clock is read again, unless one took long.
constexpr int kPacketsPerLook = 16;

// True if making the packet takes long: its lines are encoded or compressed.
bool IsLong(const Batch& batch, const UplinkStage& stage) {
  const bool has_lines = batch.kind == BatchKind::kEnvelope || (batch.flags & kFlagEnvelope) != 0;
  return has_lines && (stage.packer || stage.format != Format::kNdjson);
}

}  // namespace

// Result of an attempt to take a batch.
struct Express::Attempt {
  LeaveReason reason = LeaveReason::kNone;
  bool has_no_room = false;  // for the class of the best batch
  bool was_long = false;     // the packet was encoded or compressed
};

Express::Express(std::shared_ptr<Lanes> lanes, Outlet* outlet, ExpressOptions options)
    : lanes_(std::move(lanes)),
      outlet_(outlet),
      options_(std::move(options)),
      window_(options_.window) {
  SEGANET_REQUIRE(window_ && window_->open() == 0);
}

const UplinkStage* Express::StageOf(uint32_t id) const {
  const auto it = std::find_if(options_.stages.begin(), options_.stages.end(),
                               [id](const UplinkStage& stage) { return stage.id == id; });
  return it == options_.stages.end() ? nullptr : &*it;
}

LeaveReason Express::Pump(size_t unsent, std::string* out) {
  const size_t before = out->size();
  int64_t now_us = options_.clock();
  const int64_t until_us = now_us + kTurnUs;
  has_more_ = false;
  is_full_ = false;
  look_at_us_ = kNever;
  if (unsent_reason_ != LeaveReason::kNone) return unsent_reason_;
  bool was_long = false;
  for (int packets = 1;; ++packets) {
    if ((was_long || packets % kPacketsPerLook == 0) && (now_us = options_.clock()) > until_us) {
      has_more_ = true;
      return LeaveReason::kNone;
    }
    if (window_->Room(true) == 0) return Blocked(now_us);
    const bool is_full = unsent + (out->size() - before) >= options_.max_unsent;
    Attempt attempt;
    const bool is_taken = TakeOne(kAllClasses, now_us, is_full, &attempt, out);
    was_long = attempt.was_long;
    if (is_taken) continue;
    if (attempt.reason != LeaveReason::kNone) return attempt.reason;
    if (!attempt.has_no_room) return Idle(now_us);
    // An overdue class goes before class 1, but must not use the places reserved for class 1. Class
    // 1 does not wait for it, nor for unsent bytes of others.
    const bool is_urgent_taken = TakeOne(MaskOf(kCritical), now_us, is_full, &attempt, out);
    was_long = attempt.was_long;
    if (is_urgent_taken) continue;
    if (attempt.reason != LeaveReason::kNone) return attempt.reason;
    is_full_ = is_full && window_->Room(false) > 0;
    return Blocked(now_us);
  }
}

bool Express::TakeOne(ClassMask of, int64_t now_us, bool is_full, Attempt* attempt,
                      std::string* out) {
  const UplinkStage* stage = nullptr;
  size_t size = 0;
  BatchPtr copy;
  const auto write = [&](const Batch& batch) {
    const bool is_urgent = batch.record_class == kCritical;
    // Class 1 would wait only for its own unsent bytes. They are not counted separately, so it does
    // not wait for unsent bytes at all.
    if (window_->Room(is_urgent) == 0 || (is_full && !is_urgent)) {
      attempt->has_no_room = true;
      return false;
    }
    stage = StageOf(batch.stage);
    if (!stage || stage->format == Format::kSparkplug) {
      attempt->reason = LeaveReason::kStage;
    } else if (batch.kind == BatchKind::kRecords) {
      attempt->reason = LeaveReason::kKind;
    } else if (IsLong(batch, *stage)) {
      // Nobody else may wait for the lanes meanwhile. The batch itself may end as soon as their
      // mutex is released, for example when the engine drops everything.
      copy = BatchOf(EntryOf(batch), batch.record_class, batch.epoch);
      copy->id = batch.id;
      copy->redelivery = batch.redelivery;
      return true;
    } else {
      attempt->reason = Prepare(batch, *stage, &size);
    }
    if (attempt->reason != LeaveReason::kNone) return false;
    Send(batch, size, now_us, out);
    return true;
  };
  if (!lanes_->Take(outlet_, now_us, write, /*backlog=*/false, of)) return false;
  WithdrawDemand();
  if (!copy) return true;
  attempt->was_long = true;
  attempt->reason = Prepare(*copy, *stage, &size);
  if (attempt->reason == LeaveReason::kNone) {
    Send(*copy, size, now_us, out);
    return true;
  }
  unsent_batch_ = copy->id;
  unsent_reason_ = attempt->reason;
  return false;
}

// Measures the packet of a batch. Returns why the feeder must send it.
LeaveReason Express::Prepare(const Batch& batch, const UplinkStage& stage, size_t* size) {
  *size = writer_.Prepare(MessageOf(batch), stage, options_.is_v5, options_.retain_available);
  if (*size == 0) return LeaveReason::kTopic;
  return *size > options_.max_packet ? LeaveReason::kSize : LeaveReason::kNone;
}

// Appends the prepared packet. REQUIRES: the window has room.
void Express::Send(const Batch& batch, size_t size, int64_t now_us, std::string* out) {
  Flight flight;
  flight.batch = batch.id;
  flight.sent_us = now_us;
  flight.bytes = static_cast<uint32_t>(size);
  flight.is_urgent = batch.record_class == kCritical;
  CountAwaited(batch, now_us, &flight);
  const uint16_t id = window_->Open(flight);
  if (sample_id_ == 0 && !is_late_) sample_id_ = id;
  open_bytes_ += size;
  writer_.Write(id, batch.redelivery, out);
  ++(batch.redelivery ? numbers_.redelivered : numbers_.published);
  numbers_.records += batch.record_count;
}

// Notes whoever waits for the acknowledgment of the batch.
void Express::CountAwaited(const Batch& batch, int64_t now_us, Flight* flight) {
  flight->is_awaited = !batch.receipts.empty() || batch.ticket != 0;
  if (!flight->is_awaited) return;
  ++awaited_;
  awaited_us_ = now_us;
  flight->is_prompt = flight->is_urgent || batch.ticket != 0;
  if (flight->is_prompt) ++prompt_;
  if (batch.receipts.empty()) return;
  // At a low rate, most batches have one record.
  const Receipt& receipt = batch.receipts.back();
  flight->waiter = uint64_t{receipt.life} << 32 | receipt.agent;
  const Answered& answered = answered_[receipt.agent % answered_.size()];
  if (answered.waiter == flight->waiter && now_us - answered.at_us < BriefReading::kBriefUs) {
    ++numbers_.returned;
  }
}

// No live batch is ready: raises the demand, and checks for backlog.
LeaveReason Express::Idle(int64_t now_us) {
  blocked_since_us_ = 0;
  if (const int64_t wait_us = lanes_->RetryUs(outlet_, now_us); wait_us >= 0) {
    look_at_us_ = now_us + std::max<int64_t>(wait_us, 1'000);
  }
  if (!is_demand_raised_) {
    is_demand_raised_ = true;
    lanes_->RaiseDemand(outlet_, now_us);
  }
  return lanes_->BestBacklog(outlet_, now_us) != 0 ? LeaveReason::kBacklog : LeaveReason::kNone;
}

// There is no room: returns kSlow if that has lasted too long.
LeaveReason Express::Blocked(int64_t now_us) {
  if (blocked_since_us_ == 0) blocked_since_us_ = now_us;
  return now_us - blocked_since_us_ > kSlowUs ? LeaveReason::kSlow : LeaveReason::kNone;
}

bool Express::is_roomy() const {
  return sample_id_ == 0 && !is_blocked() && !is_full_ && open_bytes_ <= kPatientBytes &&
         window_->Room(false) >= window_->open();
}

// Returns when an acknowledgment probably arrived that is read now.
int64_t Express::ArrivedUs(const Flight& flight, int64_t now_us) const {
  if (!is_late_) return now_us;
  const int64_t expected_us = flight.sent_us + static_cast<int64_t>(numbers_.rtt_us);
  return std::clamp(expected_us, std::min(read_us_, now_us), now_us);
}

LeaveReason Express::Acknowledge(uint16_t id, uint8_t reason_code, int64_t now_us) {
  const Flight* flight = window_->Find(id);
  if (!flight) return LeaveReason::kNone;
  if (reason_code >= kFirstRefusal) return LeaveReason::kRefusal;
  numbers_.moved_us = now_us;
  ++numbers_.acknowledged;
  if (reason_code == kNoMatchingSubscribers) ++numbers_.unmatched;
  numbers_.largest_taken = std::max(numbers_.largest_taken, flight->bytes);
  if (id == sample_id_) {
    sample_id_ = 0;
    sampled_us_ = now_us;
    const auto sample = static_cast<double>(now_us - flight->sent_us);
    numbers_.rtt_us =
        numbers_.rtt_us == 0 ? sample : numbers_.rtt_us + (sample - numbers_.rtt_us) / kSmoothing;
    if (numbers_.least_rtt_us == 0 || sample < numbers_.least_rtt_us) {
      numbers_.least_rtt_us = sample;
    }
  }
  if (flight->is_awaited) --awaited_;
  if (flight->is_prompt) --prompt_;
  if (flight->waiter != 0) {
    answered_[static_cast<uint32_t>(flight->waiter) % answered_.size()] = {flight->waiter, now_us};
  }
  open_bytes_ -= flight->bytes;
  const uint64_t batch = flight->batch;
  const int64_t arrived_us = ArrivedUs(*flight, now_us);
  window_->Close(id);
  lanes_->Release(outlet_, batch, arrived_us);
  return LeaveReason::kNone;
}

}  // namespace seganet
