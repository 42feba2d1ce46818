// Detects repeated QoS 2 packets from a device. Clauses are those of MQTT 3.1.1.
#ifndef SEGANET_CORE_PROTOCOL_MQTT_INCOMING_H_
#define SEGANET_CORE_PROTOCOL_MQTT_INCOMING_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace seganet::mqtt {

// The identifiers of QoS 2 packets between PUBLISH and PUBREL (3.1.1: 4.3.3), so that each record
// is delivered once. Sorted; most devices count upwards, so that Add() appends.
//
// Thread safety: none; owned by one session.
class Incoming {
 public:
  enum class State : uint8_t {
    kUnknown,
    kWaiting,   // reported, but not safe yet: PUBREC is pending
    kReceived,  // PUBREC was sent; waits for PUBREL
  };

  State Find(uint16_t packet_id) const;
  // Adds an identifier as kWaiting.
  // REQUIRES: Find(packet_id) == kUnknown.
  void Add(uint16_t packet_id);
  // REQUIRES: Find(packet_id) != kUnknown.
  void SetReceived(uint16_t packet_id);
  // REQUIRES: Find(packet_id) != kUnknown.
  void Remove(uint16_t packet_id);
  // Removes the identifiers that wait, because their records' receipts will not reach this session.
  void RemoveWaiting();

  // Returns the identifiers in state kReceived, in ascending order.
  std::vector<uint16_t> received() const;

  bool empty() const { return all_.empty(); }
  size_t size() const { return all_.size(); }
  size_t memory_bytes() const { return all_.capacity() * sizeof(Entry); }

 private:
  struct Entry {
    uint16_t packet_id;
    State state;
  };
  size_t IndexOf(uint16_t packet_id) const;

  std::vector<Entry> all_;
};

}  // namespace seganet::mqtt

#endif  // SEGANET_CORE_PROTOCOL_MQTT_INCOMING_H_
