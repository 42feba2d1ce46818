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
  const bool wanted = MayTry() && !is_barred_ && connection_->unsent() == 0 &&
                      (!is_late_ || express_->is_patient());
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
  SetLate(false);
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
  if (!Read()) return Received::kOver;
  // Before packets are sent, whose round trip may be measured.
  SetLate(false);
  if (!SendReady() || express_->numbers().records - looked_at_ >= kRecordsPerLook) {
    express_->Ring();
  }
  SetLate(may_read_late_ && late_.MayRest(*express_, MonotonicUs()));
  return is_late_ ? Received::kLate : Received::kAll;
}

// Returns false if that ended the attendance. REQUIRES: a worker attends the session.
bool DirectLine::Read() {
  bool is_handled = true;
  const bool goes_on = connection_->ReadAside([this, &is_handled](std::span<const uint8_t> bytes) {
    is_handled &= receiver_->OnBytesAside(bytes);
  });
  if (goes_on && is_handled) {
    if (is_late_) express_->SetLate(true);
    return true;
  }
  EndAttendance();
  express_->Ring();
  return false;
}

void DirectLine::SetLate(bool is_late) {
  if (is_late == is_late_) return;
  is_late_ = is_late;
  express_->SetLate(is_late);
}

// Sees to it that what was sent is not acknowledged late if something waits for that. Returns false
// if the session's thread must be woken: the attending worker does not look before its time is
// over.
bool DirectLine::KeepLate() {
  if (!is_late_ || express_->is_patient()) return true;
  // Room usually comes from what has arrived already.
  if (!Read()) return false;
  if (express_->is_patient()) return true;
  EndAttendance();
  return false;
}

bool DirectLine::Send() {
  const std::unique_lock<TurnLock> lock(turn_, std::try_to_lock);
  if (!lock || express_ == nullptr) return false;
  express_->WithdrawDemand();
  const bool is_done = SendReady();
  return KeepLate() && is_done;
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
