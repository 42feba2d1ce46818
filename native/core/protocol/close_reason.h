// Why a device's connection has to be closed, for all protocols. The gateway counts each reason for
// its operator. The device may never learn the reason: MQTT 3.1.1 has no packet for it.
#ifndef SEGANET_CORE_PROTOCOL_CLOSE_REASON_H_
#define SEGANET_CORE_PROTOCOL_CLOSE_REASON_H_

#include <cstddef>
#include <cstdint>

namespace seganet {

enum class CloseReason : uint8_t {
  kNone,                    // keep the connection open
  kDisconnected,            // the device closed it in an orderly way (DISCONNECT, Release)
  kRefused,                 // the CONNECT was refused; the refusal is in the output
  kUnsupportedVersion,      // an MQTT version without support; the refusal is in the output
  kNotConnect,              // the first packet is not CONNECT
  kSecondConnect,           // CONNECT on an open session
  kMalformed,               // lengths that do not add up, missing or surplus fields
  kBadFlags,                // reserved flag bits, DUP with QoS 0, contradicting CONNECT flags
  kBadUtf8,                 // ill-formed UTF-8 or U+0000 in a string
  kBadTopic,                // empty, a misplaced wildcard, or too many levels
  kBadPacketId,             // packet identifier 0, or not allowed in this packet
  kTooLarge,                // over the packet limit, or too many filters in one packet
  kQos3,                    // both QoS bits set
  kServerPacketFromClient,  // CONNACK, SUBACK, UNSUBACK or PINGRESP
  kTooManyUnacknowledged,   // over 65,536 unacknowledged PUBLISH packets
  kBadProperty,             // MQTT 5: unknown, misplaced, repeated, or out of range
  kProtocolError,           // MQTT 5: 0x82, where no other reason applies
  kReceiveMaximum,          // MQTT 5: more unacknowledged packets than the Receive Maximum
  kBadTopicAlias,           // MQTT 5: 0, over the maximum, or never set
  kAuthMethod,              // MQTT 5: enhanced authentication, which is not supported
  kCoapMalformed,           // CoAP over TCP: a message that cannot be parsed
  kCoapSignal,              // CoAP over TCP: no CSM first, or an unknown critical option
  kCoapAborted,             // CoAP over TCP: the device sent Abort
  kUnread,                  // CoAP over TCP: the peer does not read its notifications
  kNotAllowed,              // the login was refused
  kNotTaken,                // no stage takes the record, so it must not be acknowledged
  kNoProxyHeader,           // a connection from a listed proxy that begins without a PROXY header
  kUnfinished,              // an incomplete packet timed out, or too many were incomplete
  kCount
};
inline constexpr size_t kCloseReasonCount = static_cast<size_t>(CloseReason::kCount);

// Returns the counter's name, for example "badUtf8".
const char* Name(CloseReason reason);

}  // namespace seganet

#endif  // SEGANET_CORE_PROTOCOL_CLOSE_REASON_H_
