#ifndef SEGANET_CORE_PROTOCOL_MQTT_OUTGOING_H_
#define SEGANET_CORE_PROTOCOL_MQTT_OUTGOING_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace seganet::mqtt {

// QoS 1 PUBLISH packets to one device that it has not answered, in the order in which they were
// sent first; they are sent again in this order on a new connection [MQTT-4.6.0-1]. Few: the window
// of commands bounds them, so each search is a walk.
class Outgoing {
 public:
  struct Item {
    uint64_t id = 0;  // the owner's
    uint16_t packet_id = 0;
    bool sent = false;  // on this connection
    std::string topic;
    std::string payload;
  };

  // The packet identifier that it goes with. REQUIRES: fewer than 65,535 are there.
  uint16_t Add(uint64_t id, std::string_view topic, std::span<const uint8_t> payload);
  // The owner's id, when the packet identifier is one of them.
  std::optional<uint64_t> Remove(uint16_t packet_id);
  // The oldest that is still to be sent on this connection.
  Item* FirstUnsent();
  // A new connection: all are unsent.
  void Restart();

  // The packet identifier is one of them.
  bool Has(uint16_t packet_id) const;

  bool empty() const { return all_.empty(); }
  size_t size() const { return all_.size(); }
  size_t unsent() const;
  // Of topics and payloads.
  size_t content_bytes() const { return content_bytes_; }
  size_t memory_bytes() const { return all_.capacity() * sizeof(Item) + content_bytes_; }
  std::vector<uint64_t> ids() const;

 private:
  std::vector<Item> all_;
  size_t content_bytes_ = 0;
  uint16_t last_packet_id_ = 0;
};

}  // namespace seganet::mqtt

#endif  // SEGANET_CORE_PROTOCOL_MQTT_OUTGOING_H_
