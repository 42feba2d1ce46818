// Detects repeated QoS 2 packets from a device. Clauses are those of MQTT 3.1.1.
#ifndef SEGANET_CORE_PROTOCOL_MQTT_INCOMING_H_
#define SEGANET_CORE_PROTOCOL_MQTT_INCOMING_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace seganet::mqtt {

// The identifiers of QoS 2 packets between PUBLISH and PUBREL (3.1.1: 4.3.3), so that each record
// is delivered once. Sorted; most devices count upwards, so that Add() appends. At most 65,535
// entries of 8 bytes.
//
// Thread safety: none; owned by one session.
class Incoming {
 public:
  enum class State : uint8_t {
    kUnknown,
    kWaiting,   // its record is not safe yet, and its PUBREC is pending
    kSafe,      // its PUBREC waits for those of earlier packets
    kReceived,  // its record is safe; waits for PUBREL
    kLate,      // an earlier connection ended before its record was safe; not repeated since
  };

  State Find(uint16_t packet_id) const;
  // Returns the hash of Add(). REQUIRES: Find(packet_id) != kUnknown.
  uint32_t hash(uint16_t packet_id) const;
  // Adds an identifier as kWaiting. `hash` is that of the packet's content; 0 = unknown.
  // REQUIRES: Find(packet_id) == kUnknown.
  void Add(uint16_t packet_id, uint32_t hash = 0);
  // REQUIRES: Find(packet_id) != kUnknown, state != kUnknown.
  void Set(uint16_t packet_id, State state);
  // REQUIRES: Find(packet_id) != kUnknown.
  void Remove(uint16_t packet_id);

  // The connection has ended. Identifiers that still wait are removed.
  void EndConnection();
  // The device sent a packet with content `hash`. If its identifier comes from an earlier
  // connection where it stood for another content, the device has lost its state and begins a new
  // exchange: the identifier is removed, because the new record would be lost otherwise.
  void Check(uint16_t packet_id, uint32_t hash);
  // The record of an identifier that is kLate is safe, or lost: then a repetition is a new record.
  // No effect if the identifier has another state or content.
  void EndLate(uint16_t packet_id, uint32_t hash, bool is_safe);

  // Returns the identifiers whose record is safe, in ascending order.
  std::vector<uint16_t> received() const;

  bool empty() const { return all_.empty(); }
  size_t size() const { return all_.size(); }
  size_t memory_bytes() const { return all_.capacity() * sizeof(Entry); }

 private:
  struct Entry {
    uint16_t packet_id;
    State state;
    bool is_earlier;  // of an earlier connection, and not repeated on this one
    uint32_t hash;
  };
  size_t IndexOf(uint16_t packet_id) const;

  std::vector<Entry> all_;
};

}  // namespace seganet::mqtt

#endif  // SEGANET_CORE_PROTOCOL_MQTT_INCOMING_H_
