// Commands to a device that it has not acknowledged. Clauses are those of MQTT 3.1.1.
#ifndef SEGANET_CORE_PROTOCOL_MQTT_OUTGOING_H_
#define SEGANET_CORE_PROTOCOL_MQTT_OUTGOING_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace seganet::mqtt {

// The QoS 1 PUBLISH packets to one device that it has not answered, in the order in which they were
// first sent; on a new connection they are sent again in this order [MQTT-4.6.0-1]. The command
// window keeps their number small, so each search is linear.
//
// Thread safety: none; owned by one session.
class Outgoing {
 public:
  struct Item {
    uint64_t id = 0;  // assigned by the owner
    uint16_t packet_id = 0;
    bool sent = false;      // on this connection
    bool repeated = false;  // was sent before an earlier run of the gateway ended
    std::string topic;
    std::string payload;
  };

  // A packet that an earlier run of the gateway sent and the device did not answer. Its content is
  // on disk elsewhere; the hash recognizes it.
  struct Earlier {
    uint16_t packet_id = 0;
    uint32_t hash = 0;
  };

  // Adds a packet as sent and returns it. A packet that an earlier run sent gets the identifier of
  // that time [MQTT-4.4.0-1].
  // REQUIRES: size() + earlier().size() < 65,535.
  const Item& Add(uint64_t id, std::string_view topic, std::span<const uint8_t> payload);
  // Removes a packet that was sent on this connection and returns the owner's id; nullopt for an
  // unknown identifier.
  std::optional<uint64_t> Remove(uint16_t packet_id);
  // Returns the oldest packet not yet sent on this connection, null if all are sent.
  Item* FirstUnsent();
  // Marks all packets as unsent, for a new connection.
  void Restart();

  // Removes the packets for which gone(item) is true, and returns the owner's ids.
  template <typename Gone>
  std::vector<uint64_t> RemoveIf(Gone&& gone) {
    std::vector<uint64_t> ids;
    std::erase_if(all_, [&](const Item& item) {
      if (!gone(item)) return false;
      ids.push_back(item.id);
      content_bytes_ -= item.topic.size() + item.payload.size();
      return true;
    });
    if (all_.empty()) std::vector<Item>().swap(all_);
    return ids;
  }

  // Returns what the next run of the gateway must know of the unanswered packets; RestoreEarlier()
  // gives it back. REQUIRES (RestoreEarlier): empty(), and the identifiers are not 0.
  std::vector<Earlier> Unfinished() const;
  void RestoreEarlier(std::vector<Earlier> earlier) { earlier_ = std::move(earlier); }

  // True if the packet identifier is in use.
  bool Has(uint16_t packet_id) const;

  bool empty() const { return all_.empty(); }
  size_t size() const { return all_.size(); }
  size_t unsent() const;
  // Bytes of all topics and payloads.
  size_t content_bytes() const { return content_bytes_; }
  size_t memory_bytes() const {
    return all_.capacity() * sizeof(Item) + content_bytes_ + earlier_.capacity() * sizeof(Earlier);
  }
  std::vector<uint64_t> ids() const;

 private:
  std::vector<Item> all_;
  std::vector<Earlier> earlier_;
  size_t content_bytes_ = 0;
  uint16_t last_packet_id_ = 0;
};

}  // namespace seganet::mqtt

#endif  // SEGANET_CORE_PROTOCOL_MQTT_OUTGOING_H_
