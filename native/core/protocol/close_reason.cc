#include "core/protocol/close_reason.h"

namespace seganet {

const char* Name(CloseReason reason) {
  switch (reason) {
    case CloseReason::kNone:
      return "none";
    case CloseReason::kDisconnected:
      return "disconnected";
    case CloseReason::kRefused:
      return "refused";
    case CloseReason::kUnsupportedVersion:
      return "unsupportedVersion";
    case CloseReason::kNotConnect:
      return "notConnect";
    case CloseReason::kSecondConnect:
      return "secondConnect";
    case CloseReason::kMalformed:
      return "malformed";
    case CloseReason::kBadFlags:
      return "badFlags";
    case CloseReason::kBadUtf8:
      return "badUtf8";
    case CloseReason::kBadTopic:
      return "badTopic";
    case CloseReason::kBadPacketId:
      return "badPacketId";
    case CloseReason::kTooLarge:
      return "tooLarge";
    case CloseReason::kQos3:
      return "qos3";
    case CloseReason::kServerPacketFromClient:
      return "serverPacketFromClient";
    case CloseReason::kTooManyUnacknowledged:
      return "tooManyUnacknowledged";
    case CloseReason::kBadProperty:
      return "badProperty";
    case CloseReason::kProtocolError:
      return "protocolError";
    case CloseReason::kReceiveMaximum:
      return "receiveMaximum";
    case CloseReason::kBadTopicAlias:
      return "badTopicAlias";
    case CloseReason::kAuthMethod:
      return "authMethod";
    case CloseReason::kCoapMalformed:
      return "coapMalformed";
    case CloseReason::kCoapSignal:
      return "coapSignal";
    case CloseReason::kCoapAborted:
      return "coapAborted";
    case CloseReason::kUnread:
      return "unread";
    case CloseReason::kNotAllowed:
      return "notAllowed";
    case CloseReason::kNotTaken:
      return "notTaken";
    case CloseReason::kNoProxyHeader:
      return "noProxyHeader";
    case CloseReason::kUnfinished:
      return "unfinished";
    case CloseReason::kCount:
      break;
  }
  return "unknown";
}

}  // namespace seganet
