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
  express_ = nullptr;
  connection_ = nullptr;
}

bool DirectLine::Send() {
  const std::unique_lock<TurnLock> lock(turn_, std::try_to_lock);
  if (!lock || express_ == nullptr || reason_ != LeaveReason::kNone) return false;
  // What waits for room or for the rest of a turn needs events of the session's loop.
  if (!connection_->is_open() || connection_->unsent() > 0) return false;
  if (express_->is_blocked() || express_->has_more()) return false;
  express_->WithdrawDemand();
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
