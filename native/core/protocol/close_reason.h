// Why a device's connection has to be closed, over all protocols. Each value is a counter for
// whoever runs the gateway: the device itself may not be told (MQTT 3.1.1 has no packet for it).
#ifndef SEGANET_CORE_PROTOCOL_CLOSE_REASON_H_
#define SEGANET_CORE_PROTOCOL_CLOSE_REASON_H_

#include <cstddef>
#include <cstdint>

namespace seganet {

enum class CloseReason : uint8_t {
  kNone,                    // keep it open
  kDisconnected,            // the device ended it as agreed (DISCONNECT, Release)
  kRefused,                 // the refusal of the CONNECT is in the output
  kUnsupportedVersion,      // no MQTT version that is served; the refusal is in the output
  kNotConnect,              // the first packet is not CONNECT
  kSecondConnect,           // CONNECT on an open session
  kMalformed,               // lengths that do not add up, missing or surplus fields
  kBadFlags,                // reserved flag bits, DUP with QoS 0, contradicting CONNECT flags
  kBadUtf8,                 // ill-formed UTF-8 or U+0000 in a string
  kBadTopic,                // empty, with a wildcard out of place, or too many levels
  kBadPacketId,             // packet identifier 0, or one that this packet may not have
  kTooLarge,                // over the packet limit, or too many filters in one
  kQos3,                    // both QoS bits set
  kServerPacketFromClient,  // CONNACK, SUBACK, UNSUBACK or PINGRESP
  kTooManyUnacknowledged,   // over 65,536 PUBLISH packets that were not acknowledged
  kBadProperty,             // MQTT 5: unknown, out of place, twice, or with a value out of range
  kProtocolError,           // MQTT 5: 0x82 for what has no reason of its own
  kReceiveMaximum,          // MQTT 5: more unacknowledged than the Receive Maximum allows
  kBadTopicAlias,           // MQTT 5: 0, over the maximum, or not set before
  kAuthMethod,              // MQTT 5: enhanced authentication, which is not offered
  kCoapMalformed,           // CoAP over TCP: a message that cannot be parsed
  kCoapSignal,              // CoAP over TCP: no CSM first, or a critical option that is not known
  kCoapAborted,             // CoAP over TCP: the device sent Abort
  kNotAllowed,              // the login was refused
  kNotTaken,                // nothing takes its record, which must not be acknowledged
  kCount
};
inline constexpr size_t kCloseReasonCount = static_cast<size_t>(CloseReason::kCount);

// The counter's name, for example "badUtf8".
const char* Name(CloseReason reason);

}  // namespace seganet

#endif  // SEGANET_CORE_PROTOCOL_CLOSE_REASON_H_
