#include "core/protocol/mqtt/close_reason.h"

namespace seganet::mqtt {

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
    case CloseReason::kQos2Unsupported:
      return "qos2Unsupported";
    case CloseReason::kQos3:
      return "qos3";
    case CloseReason::kServerPacketFromClient:
      return "serverPacketFromClient";
    case CloseReason::kTooManyUnacknowledged:
      return "tooManyUnacknowledged";
  }
  return "unknown";
}

}  // namespace seganet::mqtt
