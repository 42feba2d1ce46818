#ifndef SEGANET_CORE_PROTOCOL_MQTT_INCOMING_H_
#define SEGANET_CORE_PROTOCOL_MQTT_INCOMING_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace seganet::mqtt {

// The identifiers of QoS 2 PUBLISH packets between PUBLISH and PUBREL (3.1.1: 4.3.3): what makes a
// record come once only. Sorted; a device mostly counts upwards, so one is added at the end.
class Incoming {
 public:
  enum class State : uint8_t {
    kUnknown,
    kWaiting,   // reported, and not safe yet: its PUBREC is to come
    kReceived,  // PUBREC was sent
  };

  State Find(uint16_t packet_id) const;
  // REQUIRES: unknown.
  void Add(uint16_t packet_id);
  // REQUIRES: known.
  void SetReceived(uint16_t packet_id);
  // REQUIRES: known.
  void Remove(uint16_t packet_id);
  // Forgets those that wait: nobody will say of them that they are safe.
  void RemoveWaiting();

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
