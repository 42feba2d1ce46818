#include "core/protocol/mqtt/outgoing.h"

#include <algorithm>

#include "core/base/require.h"

namespace seganet::mqtt {

bool Outgoing::Has(uint16_t packet_id) const {
  return std::any_of(all_.begin(), all_.end(),
                     [&](const Item& item) { return item.packet_id == packet_id; });
}

uint16_t Outgoing::Add(uint64_t id, std::string_view topic, std::span<const uint8_t> payload) {
  SEGANET_REQUIRE(all_.size() < 65535);
  do {  // [MQTT-2.3.1-2], [MQTT-2.3.1-4] An identifier not in use, and never 0.
    ++last_packet_id_;
  } while (last_packet_id_ == 0 || Has(last_packet_id_));
  content_bytes_ += topic.size() + payload.size();
  all_.push_back(
      {id, last_packet_id_, true, std::string(topic), std::string(payload.begin(), payload.end())});
  return last_packet_id_;
}

std::optional<uint64_t> Outgoing::Remove(uint16_t packet_id) {
  const auto at = std::find_if(all_.begin(), all_.end(), [&](const Item& item) {
    return item.packet_id == packet_id && item.sent;
  });
  if (at == all_.end()) return std::nullopt;
  const uint64_t id = at->id;
  content_bytes_ -= at->topic.size() + at->payload.size();
  all_.erase(at);
  if (all_.empty()) std::vector<Item>().swap(all_);  // most of 10,000 devices have no command
  return id;
}

Outgoing::Item* Outgoing::FirstUnsent() {
  const auto at =
      std::find_if(all_.begin(), all_.end(), [](const Item& item) { return !item.sent; });
  return at == all_.end() ? nullptr : &*at;
}

void Outgoing::Restart() {
  for (Item& item : all_) item.sent = false;
}

size_t Outgoing::unsent() const {
  return static_cast<size_t>(
      std::count_if(all_.begin(), all_.end(), [](const Item& item) { return !item.sent; }));
}

std::vector<uint64_t> Outgoing::ids() const {
  std::vector<uint64_t> ids;
  ids.reserve(all_.size());
  for (const Item& item : all_) ids.push_back(item.id);
  return ids;
}

}  // namespace seganet::mqtt
