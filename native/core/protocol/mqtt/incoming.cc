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

uint32_t Incoming::hash(uint16_t packet_id) const {
  SEGANET_REQUIRE(Find(packet_id) != State::kUnknown);
  return all_[IndexOf(packet_id)].hash;
}

void Incoming::Add(uint16_t packet_id, uint32_t hash) {
  SEGANET_REQUIRE(Find(packet_id) == State::kUnknown);
  const auto at = static_cast<std::ptrdiff_t>(IndexOf(packet_id));
  all_.insert(all_.begin() + at, {packet_id, State::kWaiting, false, hash});
}

void Incoming::Set(uint16_t packet_id, State state) {
  SEGANET_REQUIRE(Find(packet_id) != State::kUnknown && state != State::kUnknown);
  all_[IndexOf(packet_id)].state = state;
}

void Incoming::Remove(uint16_t packet_id) {
  SEGANET_REQUIRE(Find(packet_id) != State::kUnknown);
  all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(IndexOf(packet_id)));
  if (all_.empty()) std::vector<Entry>().swap(all_);
}

void Incoming::EndConnection() {
  std::erase_if(all_, [](const Entry& entry) { return entry.state == State::kWaiting; });
  all_.shrink_to_fit();
  for (Entry& entry : all_) {
    if (entry.state == State::kSafe) entry.state = State::kReceived;
    entry.is_earlier = true;
  }
}

void Incoming::Check(uint16_t packet_id, uint32_t hash) {
  if (Find(packet_id) == State::kUnknown) return;
  Entry& entry = all_[IndexOf(packet_id)];
  if (entry.is_earlier && entry.hash != 0 && entry.hash != hash) {
    Remove(packet_id);
  } else {
    entry.is_earlier = false;
  }
}

void Incoming::EndLate(uint16_t packet_id, uint32_t hash, bool is_safe) {
  if (Find(packet_id) != State::kLate || all_[IndexOf(packet_id)].hash != hash) return;
  if (is_safe) {
    Set(packet_id, State::kReceived);
  } else {
    Remove(packet_id);
  }
}

std::vector<uint16_t> Incoming::received() const {
  std::vector<uint16_t> ids;
  for (const Entry& entry : all_) {
    if (entry.state == State::kReceived || entry.state == State::kSafe) {
      ids.push_back(entry.packet_id);
    }
  }
  return ids;
}

}  // namespace seganet::mqtt
