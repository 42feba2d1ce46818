#include "core/protocol/mqtt/outgoing.h"

#include <algorithm>

#include "core/base/require.h"
#include "core/protocol/mqtt/content_hash.h"

namespace seganet::mqtt {

bool Outgoing::Has(uint16_t packet_id) const {
  const auto has = [&](const auto& item) { return item.packet_id == packet_id; };
  return std::any_of(all_.begin(), all_.end(), has) ||
         std::any_of(earlier_.begin(), earlier_.end(), has);
}

const Outgoing::Item& Outgoing::Add(uint64_t id, std::string_view topic,
                                    std::span<const uint8_t> payload) {
  SEGANET_REQUIRE(all_.size() + earlier_.size() < 65535);
  Item item{id, 0, true, false, std::string(topic), std::string(payload.begin(), payload.end())};
  const auto before = earlier_.empty()
                          ? earlier_.end()
                          : std::find_if(earlier_.begin(), earlier_.end(),
                                         [hash = ContentHash(item.topic, item.payload)](
                                             const Earlier& one) { return one.hash == hash; });
  if (before != earlier_.end()) {
    item.packet_id = before->packet_id;
    item.repeated = true;
    earlier_.erase(before);
  } else {
    do {  // [MQTT-2.3.1-2], [MQTT-2.3.1-4] An identifier not in use, and never 0.
      ++last_packet_id_;
    } while (last_packet_id_ == 0 || Has(last_packet_id_));
    item.packet_id = last_packet_id_;
  }
  content_bytes_ += topic.size() + payload.size();
  return all_.emplace_back(std::move(item));
}

std::vector<Outgoing::Earlier> Outgoing::Unfinished() const {
  std::vector<Earlier> unfinished = earlier_;
  for (const Item& item : all_) {
    unfinished.push_back({item.packet_id, ContentHash(item.topic, item.payload)});
  }
  return unfinished;
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
