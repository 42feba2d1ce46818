#include "core/devices/push_tickets.h"

namespace seganet {

uint64_t PushTickets::Open(uint32_t ticket) {
  const uint64_t handle = next_handle_++;
  waiting_[handle] = {ticket, 0};
  return handle;
}

void PushTickets::Expect(uint64_t handle, uint32_t copies) {
  const auto it = waiting_.find(handle);
  if (it == waiting_.end()) return;
  it->second.missing = copies;
  if (copies > 0) return;
  over_.push_back({it->second.ticket, true});
  waiting_.erase(it);
}

void PushTickets::Acknowledge(uint64_t handle) {
  const auto it = waiting_.find(handle);
  if (it == waiting_.end() || --it->second.missing > 0) return;
  over_.push_back({it->second.ticket, true});
  waiting_.erase(it);
}

void PushTickets::Withhold(uint64_t handle, Untaken why) {
  const auto it = waiting_.find(handle);
  if (it == waiting_.end()) return;
  over_.push_back({.ticket = it->second.ticket, .withheld = true, .why = why});
  waiting_.erase(it);
}

void PushTickets::Refuse(uint64_t handle) {
  const auto it = waiting_.find(handle);
  if (it == waiting_.end()) return;
  over_.push_back({.ticket = it->second.ticket, .refused = true});
  waiting_.erase(it);
}

void PushTickets::Flush() {
  if (over_.empty()) return;
  done_(over_);
  over_.clear();
}

}  // namespace seganet
