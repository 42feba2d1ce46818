#include "core/protocol/mqtt/reason_code.h"

namespace seganet::mqtt {

uint8_t ReasonCodeOf(CloseReason reason) {
  switch (reason) {
    case CloseReason::kNone:
    case CloseReason::kDisconnected:
      return reason::kSuccess;
    case CloseReason::kUnsupportedVersion:
      return reason::kUnsupportedVersion;
    case CloseReason::kMalformed:
    case CloseReason::kBadFlags:  // 5: 2.1.3
    case CloseReason::kBadUtf8:   // 5: [MQTT-1.5.4-1]
    case CloseReason::kQos3:      // 5: [MQTT-3.3.1-4]
      return reason::kMalformedPacket;
    case CloseReason::kBadTopic:
      return reason::kTopicNameInvalid;
    case CloseReason::kTooLarge:
      return reason::kPacketTooLarge;
    case CloseReason::kTooManyUnacknowledged:
    case CloseReason::kReceiveMaximum:  // 5: [MQTT-3.3.4-9]
      return reason::kReceiveMaximumExceeded;
    case CloseReason::kBadTopicAlias:  // 5: 3.3.2.3.4
      return reason::kTopicAliasInvalid;
    case CloseReason::kAuthMethod:
      return reason::kBadAuthenticationMethod;
    case CloseReason::kNotAllowed:
      return reason::kNotAuthorized;
    default:
      return reason::kProtocolError;
  }
}

}  // namespace seganet::mqtt
