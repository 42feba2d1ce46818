#include "core/devices/push_tickets.h"

namespace seganet {

uint64_t PushedTickets::Open(uint32_t ticket) {
  const uint64_t slot = next_slot_++;
  waiting_[slot] = {ticket, 0};
  return slot;
}

void PushedTickets::Expect(uint64_t slot, uint32_t copies) {
  const auto it = waiting_.find(slot);
  if (it == waiting_.end()) return;
  it->second.missing = copies;
  if (copies > 0) return;
  over_.push_back({it->second.ticket, true});
  waiting_.erase(it);
}

void PushedTickets::Acknowledge(uint64_t slot) {
  const auto it = waiting_.find(slot);
  if (it == waiting_.end() || --it->second.missing > 0) return;
  over_.push_back({it->second.ticket, true});
  waiting_.erase(it);
}

void PushedTickets::Withhold(uint64_t slot) {
  const auto it = waiting_.find(slot);
  if (it == waiting_.end()) return;
  over_.push_back({.ticket = it->second.ticket, .withheld = true});
  waiting_.erase(it);
}

void PushedTickets::Flush() {
  if (over_.empty()) return;
  done_(over_);
  over_.clear();
}

}  // namespace seganet
