#include "core/protocol/mqtt/incoming.h"

#include <algorithm>

#include "core/base/require.h"

namespace seganet::mqtt {

size_t Incoming::IndexOf(uint16_t packet_id) const {
  const auto at = std::lower_bound(
      all_.begin(), all_.end(), packet_id,
      [](const Entry& entry, uint16_t wanted) { return entry.packet_id < wanted; });
  return static_cast<size_t>(at - all_.begin());
}

Incoming::State Incoming::Find(uint16_t packet_id) const {
  const size_t i = IndexOf(packet_id);
  if (i == all_.size() || all_[i].packet_id != packet_id) return State::kUnknown;
  return all_[i].state;
}

void Incoming::Add(uint16_t packet_id) {
  SEGANET_REQUIRE(Find(packet_id) == State::kUnknown);
  const auto at = static_cast<std::ptrdiff_t>(IndexOf(packet_id));
  all_.insert(all_.begin() + at, {packet_id, State::kWaiting});
}

void Incoming::SetReceived(uint16_t packet_id) {
  SEGANET_REQUIRE(Find(packet_id) != State::kUnknown);
  all_[IndexOf(packet_id)].state = State::kReceived;
}

void Incoming::Remove(uint16_t packet_id) {
  SEGANET_REQUIRE(Find(packet_id) != State::kUnknown);
  all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(IndexOf(packet_id)));
  if (all_.empty()) std::vector<Entry>().swap(all_);
}

std::vector<uint16_t> Incoming::received() const {
  std::vector<uint16_t> ids;
  for (const Entry& entry : all_) {
    if (entry.state == State::kReceived) ids.push_back(entry.packet_id);
  }
  return ids;
}

void Incoming::RemoveWaiting() {
  std::erase_if(all_, [](const Entry& entry) { return entry.state == State::kWaiting; });
  all_.shrink_to_fit();
}

}  // namespace seganet::mqtt
