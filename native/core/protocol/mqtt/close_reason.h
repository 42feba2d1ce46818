#ifndef SEGANET_CORE_PROTOCOL_MQTT_CLOSE_REASON_H_
#define SEGANET_CORE_PROTOCOL_MQTT_CLOSE_REASON_H_

#include <cstddef>
#include <cstdint>

namespace seganet::mqtt {

// Why a device's connection has to be closed. MQTT 3.1.1 has no packet that tells the device, so
// each value is a counter for whoever runs the gateway.
enum class CloseReason : uint8_t {
  kNone,                    // keep it open
  kDisconnected,            // DISCONNECT: the normal end
  kRefused,                 // CONNACK with a return code other than 0 is in the output
  kUnsupportedVersion,      // neither 3.1 nor 3.1.1; the refusal is in the output
  kNotConnect,              // the first packet is not CONNECT
  kSecondConnect,           // CONNECT on an open session
  kMalformed,               // lengths that do not add up, missing or surplus fields
  kBadFlags,                // reserved flag bits, DUP with QoS 0, contradicting CONNECT flags
  kBadUtf8,                 // ill-formed UTF-8 or U+0000 in a string
  kBadTopic,                // empty, with a wildcard out of place, or too many levels
  kBadPacketId,             // packet identifier 0
  kTooLarge,                // packet over max_packet_bytes, or too many filters in one
  kQos2Unsupported,         // QoS 2 PUBLISH, PUBREC, PUBREL or PUBCOMP
  kQos3,                    // both QoS bits set
  kServerPacketFromClient,  // CONNACK, SUBACK, UNSUBACK or PINGRESP
  kTooManyUnacknowledged,   // over 65,536 PUBLISH packets that were not acknowledged
};
inline constexpr size_t kCloseReasonCount = 16;

// The counter's name, for example "badUtf8".
const char* Name(CloseReason reason);

}  // namespace seganet::mqtt

#endif  // SEGANET_CORE_PROTOCOL_MQTT_CLOSE_REASON_H_
