// QoS 2 packets whose connection ended before their record was safe.
#ifndef SEGANET_CORE_PROTOCOL_MQTT_LATE_PUBLISH_H_
#define SEGANET_CORE_PROTOCOL_MQTT_LATE_PUBLISH_H_

#include <cstdint>

namespace seganet::mqtt {

// A packet whose identifier the kept session holds. The owner reports how its record ends:
// ServerSession::EndLate() on a later connection, Incoming::EndLate() without a connection.
struct LatePublish {
  uint64_t handle = 0;  // of the connection that ended (Publish::handle)
  uint32_t hash = 0;    // Incoming::Add()
  uint16_t packet_id = 0;
  uint16_t missing = 0;  // acknowledgements still to come
};

enum class LateEnd : uint8_t {
  kSafe,
  kLost,     // it was never safe: the device must send it again
  kRefused,  // a flow did not deliver it
};

}  // namespace seganet::mqtt

#endif  // SEGANET_CORE_PROTOCOL_MQTT_LATE_PUBLISH_H_
