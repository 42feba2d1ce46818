// Reason codes of MQTT 5.0 (2.4), and the fault of a packet. Clauses are those of 5.0.
#ifndef SEGANET_CORE_PROTOCOL_MQTT_REASON_CODE_H_
#define SEGANET_CORE_PROTOCOL_MQTT_REASON_CODE_H_

#include <cstdint>

#include "core/protocol/close_reason.h"

// The reason codes that a server of devices sends or receives.
namespace seganet::mqtt::reason {

inline constexpr uint8_t kSuccess = 0x00;
inline constexpr uint8_t kDisconnectWithWill = 0x04;
inline constexpr uint8_t kNoSubscriptionExisted = 0x11;
inline constexpr uint8_t kUnspecified = 0x80;  // from here on: failures
inline constexpr uint8_t kMalformedPacket = 0x81;
inline constexpr uint8_t kProtocolError = 0x82;
inline constexpr uint8_t kImplementationSpecific = 0x83;
inline constexpr uint8_t kUnsupportedVersion = 0x84;
inline constexpr uint8_t kIdentifierNotValid = 0x85;
inline constexpr uint8_t kBadCredentials = 0x86;
inline constexpr uint8_t kNotAuthorized = 0x87;
inline constexpr uint8_t kServerUnavailable = 0x88;
inline constexpr uint8_t kShuttingDown = 0x8B;
inline constexpr uint8_t kBadAuthenticationMethod = 0x8C;
inline constexpr uint8_t kKeepAliveTimeout = 0x8D;
inline constexpr uint8_t kTakenOver = 0x8E;
inline constexpr uint8_t kTopicFilterInvalid = 0x8F;
inline constexpr uint8_t kTopicNameInvalid = 0x90;
inline constexpr uint8_t kPacketIdNotFound = 0x92;
inline constexpr uint8_t kReceiveMaximumExceeded = 0x93;
inline constexpr uint8_t kTopicAliasInvalid = 0x94;
inline constexpr uint8_t kPacketTooLarge = 0x95;
inline constexpr uint8_t kRateTooHigh = 0x96;
inline constexpr uint8_t kQuotaExceeded = 0x97;
inline constexpr uint8_t kAdministrative = 0x98;
inline constexpr uint8_t kPayloadFormatInvalid = 0x99;
inline constexpr uint8_t kUseAnotherServer = 0x9C;
inline constexpr uint8_t kSharedNotSupported = 0x9E;

}  // namespace seganet::mqtt::reason

namespace seganet::mqtt {

// Returns the reason code to send for `reason` when the packet has no more specific one (4.13).
uint8_t ReasonCodeOf(CloseReason reason);

// Why a packet is refused: the reason to count, and the code for an MQTT 5 device. kNone = no
// fault.
struct Fault {
  Fault(CloseReason why = CloseReason::kNone) : reason(why) {  // NOLINT: meant to convert
    if (why != CloseReason::kNone) code = ReasonCodeOf(why);
  }
  Fault(CloseReason why, uint8_t reason_code) : reason(why), code(reason_code) {}
  explicit operator bool() const { return reason != CloseReason::kNone; }
  bool operator==(CloseReason other) const { return reason == other; }

  CloseReason reason;
  uint8_t code = 0;
};

}  // namespace seganet::mqtt

#endif  // SEGANET_CORE_PROTOCOL_MQTT_REASON_CODE_H_
