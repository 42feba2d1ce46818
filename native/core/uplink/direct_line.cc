#include "core/uplink/direct_line.h"

#include <mutex>

#include "core/base/clock.h"

namespace seganet {
namespace {

// A larger buffer is freed after its use.
constexpr size_t kKeptOutput = 65'536;

}  // namespace

void DirectLine::Close() {
  const std::lock_guard<TurnLock> lock(turn_);
  if (is_attended()) EndAttendance();
  // Also for what an earlier call left to a turn of the session's thread, which will not come now:
  // bytes that the kernel has not accepted, or the end of an attendance.
  if (connection_ != nullptr) connection_->Rewatch();
  express_ = nullptr;
  connection_ = nullptr;
  receiver_ = nullptr;
}

void DirectLine::Share() {
  if (express_ == nullptr) return;
  looked_at_ = express_->numbers().records;
  // Only the session's loop waits until the kernel accepts bytes.
  const bool wanted = MayTry() && !is_barred_ && connection_->unsent() == 0 && MayKeepPace();
  if (wanted == is_attended() || (wanted && !connection_->may_leave_reading())) return;
  if (!wanted) {
    EndAttendance();
    connection_->Rewatch();
    return;
  }
  const int fd = connection_->Duplicate();
  is_barred_ = fd < 0;
  if (is_barred_) return;
  attendance_ = ++attendances_;
  connection_->LeaveReading(true);
  if (express_->Attend(shared_from_this(), attendance_, fd)) return;
  EndAttendance();
  connection_->Rewatch();
  is_barred_ = true;
}

void DirectLine::EndAttendance() {
  attendance_ = 0;
  SetPace(Pace::kAtOnce, kAtOnce);
  connection_->ReturnReading();
}

void DirectLine::Abandon(uint64_t attendance) {
  const std::lock_guard<TurnLock> lock(turn_);
  if (attendance != attendance_) return;
  is_barred_ = true;
  EndAttendance();
  express_->Ring();
}

DirectSession::Received DirectLine::Receive(uint64_t attendance) {
  const std::unique_lock<TurnLock> lock(turn_, std::try_to_lock);
  if (!lock) return Received::kBusy;
  if (attendance != attendance_) return Received::kOver;
  attendant_ = std::this_thread::get_id();
  const int64_t now_us = MonotonicUs();
  // Otherwise the connection has ended, or another worker has read meanwhile.
  const bool is_over = pace_ == Pace::kBrief && now_us + kEarlyUs >= read_at_us();
  if (is_over) brief_.End(/*is_over=*/true, now_us);
  if (!Read()) return Received::kOver;
  // Before packets are sent, whose round trip may be measured.
  SetPace(Pace::kAtOnce, kAtOnce);
  if (!SendReady() || IsLookDue()) express_->Ring();
  ChoosePace(/*may_pause=*/!is_over);
  return is_late() ? Received::kLate : Received::kAll;
}

// Returns false if that ended the attendance. REQUIRES: a worker attends the session.
bool DirectLine::Read() {
  bool is_handled = true;
  const bool goes_on = connection_->ReadAside([this, &is_handled](std::span<const uint8_t> bytes) {
    is_handled &= receiver_->OnBytesAside(bytes);
  });
  if (goes_on && is_handled) {
    if (is_late()) express_->SetLate(true);
    return true;
  }
  EndAttendance();
  express_->Ring();
  return false;
}

void DirectLine::SetPace(Pace pace, int64_t read_at_us) {
  const bool was_late = is_late();
  pace_ = pace;
  read_at_us_.store(read_at_us, std::memory_order_relaxed);
  if (is_late() != was_late) express_->SetLate(is_late());
}

// `may_pause`: packets are probably sent soon.
void DirectLine::ChoosePace(bool may_pause) {
  if (!may_read_late_) return;
  const int64_t now_us = MonotonicUs();
  if (late_.MayRest(*express_, now_us)) {
    SetPace(Pace::kLate, now_us + LateReading::kLateUs);
  } else if (may_pause && brief_.May(now_us) && late_.MayPause(*express_, now_us)) {
    Pause(now_us);
  }
}

void DirectLine::Pause(int64_t now_us) {
  SetPace(Pace::kBrief, now_us + BriefReading::kBriefUs);
  brief_.Begin(now_us);
  returned_ = express_->numbers().returned;
}

// True if reading at the current pace delays nothing longer than it may.
bool DirectLine::MayKeepPace() const {
  if (pace_ == Pace::kAtOnce) return true;
  return pace_ == Pace::kLate ? express_->is_patient()
                              : express_->is_roomy() && !express_->is_prompt();
}

// Sees to it that what was sent is acknowledged in time. Returns false if the session's thread must
// be woken: an attending worker that is not the caller does not look before its time is over.
bool DirectLine::KeepPace() {
  if (pace_ == Pace::kBrief) return EndPause();
  if (MayKeepPace()) return true;
  // Room usually comes from what has arrived already.
  if (!Read()) return false;
  return MayKeepPace() || ReadAtOnce();
}

// A packet may have been sent: reads what arrived since the previous one.
bool DirectLine::EndPause() {
  const int64_t now_us = MonotonicUs();
  brief_.End(/*is_over=*/false, now_us);
  brief_.Return(express_->numbers().returned - returned_, now_us);
  if (!Read()) return false;
  if (brief_.May(now_us) && late_.MayPause(*express_, now_us)) {
    Pause(now_us);
    return !IsLookDue();
  }
  if (attendant_ == std::this_thread::get_id() || !MayKeepPace()) return ReadAtOnce();
  // The attending worker reads when the time of this pause is over.
  brief_.Begin(now_us);
  returned_ = express_->numbers().returned;
  return true;
}

// Ends late reading.
bool DirectLine::ReadAtOnce() {
  if (attendant_ == std::this_thread::get_id()) {
    SetPace(Pace::kAtOnce, kAtOnce);
    return true;
  }
  EndAttendance();
  return false;
}

bool DirectLine::Send() {
  const std::unique_lock<TurnLock> lock(turn_, std::try_to_lock);
  if (!lock || express_ == nullptr) return false;
  express_->WithdrawDemand();
  const bool is_done = SendReady();
  return KeepPace() && is_done;
}

bool DirectLine::SendReady() {
  if (reason_ != LeaveReason::kNone) return false;
  // What waits for room or for the rest of a turn needs events of the session's loop.
  if (!connection_->is_open() || connection_->unsent() > 0) return false;
  if (express_->is_blocked() || express_->has_more()) return false;
  reason_ = express_->Pump(0, &out_);
  const bool is_sent = out_.empty() || connection_->WriteAside(out_);
  if (out_.capacity() > kKeptOutput) {
    out_ = {};
  } else {
    out_.clear();
  }
  return is_sent && reason_ == LeaveReason::kNone && !express_->is_blocked() &&
         !express_->has_more() && express_->look_at_us() == kNever;
}

}  // namespace seganet
