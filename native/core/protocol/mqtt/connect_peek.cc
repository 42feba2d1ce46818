#include "core/protocol/mqtt/connect_peek.h"

#include "core/protocol/mqtt/codec.h"
#include "core/protocol/mqtt/encode.h"

namespace seganet::mqtt {
namespace {

using Status = ConnectPeek::Status;

Status StatusOf(CloseReason reason) {
  switch (reason) {
    case CloseReason::kNone:
      return Status::kOk;
    case CloseReason::kNotConnect:
      return Status::kNotConnect;
    case CloseReason::kUnsupportedVersion:
      return Status::kUnsupportedVersion;
    default:
      return Status::kMalformed;
  }
}

// [MQTT-2.2.2-2]; 3.1 does not use these bits.
bool MayHaveFlags(uint8_t flags, uint8_t level) { return flags == 0 || level == kLevel31; }

ConnectPeek Ended(const Fault& fault) {
  ConnectPeek peek;
  peek.status = StatusOf(fault.reason);
  peek.reason = fault.reason;
  peek.reason_code = fault.code;
  return peek;
}

}  // namespace

ConnectPeek PeekConnect(std::span<const uint8_t> bytes, size_t max_bytes) {
  if (bytes.empty()) return {};
  if (bytes[0] >> 4 != static_cast<uint8_t>(PacketType::kConnect)) {
    return Ended(CloseReason::kNotConnect);  // [MQTT-3.1.0-1]
  }
  FixedHeader header;
  const HeaderStatus status = DecodeFixedHeader(bytes, &header);
  if (status == HeaderStatus::kMalformed) return Ended(CloseReason::kMalformed);
  if (status == HeaderStatus::kNeedMore) return {};
  if (header.total() > max_bytes) return Ended(CloseReason::kTooLarge);

  const std::span<const uint8_t> arrived = bytes.subspan(header.size);
  if (arrived.size() < header.remaining) {
    // The packet is incomplete, but the version may be complete. level 0 with kMalformed: not yet.
    uint8_t level = 0;
    const CloseReason reason = ParseProtocol(arrived, &level);
    if (reason == CloseReason::kMalformed && level == 0) return {};
    if (!MayHaveFlags(header.flags, level)) return Ended(CloseReason::kBadFlags);
    if (reason == CloseReason::kNone) return {};
    ConnectPeek peek = Ended(reason);
    peek.protocol_level = level;
    return peek;
  }

  Connect connect;
  // The ServerSession checks the limit on topic levels, which is not known here. A will topic has
  // at most one level per byte plus one, so this limit accepts all.
  Fault fault = ParseConnect(arrived.first(header.remaining), kMaxStringBytes + 1, &connect);
  if (!MayHaveFlags(header.flags, connect.protocol_level)) return Ended(CloseReason::kBadFlags);
  if (connect.protocol_level == kLevel5 && !ShortestLength(header)) fault = CloseReason::kMalformed;
  ConnectPeek peek = Ended(fault);
  peek.protocol_level = connect.protocol_level;
  if (!fault) {
    peek.client_id = connect.client_id;
    peek.user_name = connect.user_name;
    peek.password = connect.password;
    peek.clean_session = connect.clean_session;
  }
  return peek;
}

std::string RefusalFor(const ConnectPeek& peek) {
  return ConnectRefusal(peek.protocol_level, {peek.reason, peek.reason_code});
}

}  // namespace seganet::mqtt
