#include "core/devices/session_saves.h"

#include <algorithm>

#include "core/base/require.h"

namespace seganet {

uint64_t SessionSaves::Add(std::string_view device, bool is_changed, bool is_saved) {
  if (!active()) return 0;
  const uint64_t ticket = ++last_;
  std::string name(device);
  touched_.erase(name);
  const auto [it, is_new] = tickets_.emplace(name, ticket);
  Due& due = dirty_[it->second];
  if (is_new) due.device = std::move(name);
  due.is_changed |= is_changed;
  due.is_saved |= is_saved;
  return ticket;
}

void SessionSaves::Touch(std::string_view device) {
  if (!active()) return;
  std::string name(device);
  if (tickets_.contains(name)) return;
  if (touched_.empty()) touched_due_us_ = MonotonicUs() + kTouchUs;
  touched_.insert(std::move(name));
}

void SessionSaves::Ended(std::string_view device, bool is_saved) {
  if (is_saved) {
    Add(device, true, true);
    return;
  }
  // Nothing of this session is on disk. An earlier session of the device may be.
  const std::string name(device);
  touched_.erase(name);
  const auto it = tickets_.find(name);
  if (it == tickets_.end() || dirty_.at(it->second).is_saved) return;
  dirty_.erase(it->second);
  tickets_.erase(it);
}

bool SessionSaves::Committed(uint64_t sessions) {
  SEGANET_REQUIRE(sessions <= offered_.size());
  offered_.erase(offered_.begin(), offered_.begin() + static_cast<ptrdiff_t>(sessions));
  // Tickets of sessions that ended unsaved leave gaps.
  uint64_t open = last_ + 1;
  if (!offered_.empty()) open = offered_.front();
  if (!dirty_.empty()) open = std::min(open, dirty_.begin()->first);
  const bool is_later = open - 1 > saved_;
  saved_ = std::max(saved_, open - 1);
  return is_later && !awaiting_.empty();
}

void SessionSaves::DirtyTouched() {
  touched_due_us_ = kNever;
  std::unordered_set<std::string> touched;
  touched.swap(touched_);
  for (const std::string& device : touched) Add(device, false, false);
}

void SessionSaves::Clear() {
  dirty_.clear();
  tickets_.clear();
  touched_.clear();
  touched_due_us_ = kNever;
}

}  // namespace seganet
