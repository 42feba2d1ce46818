// Parses CONNECT (3.1). Clauses are those of MQTT 3.1.1; "5:" marks clauses of 5.0.
#include "core/protocol/mqtt/codec.h"
#include "core/protocol/mqtt/reader.h"

namespace seganet::mqtt {
namespace {

constexpr uint8_t kReserved = 0x01;
constexpr uint8_t kCleanSession = 0x02;
constexpr uint8_t kWill = 0x04;
constexpr uint8_t kWillQos = 0x18;
constexpr uint8_t kWillRetain = 0x20;
constexpr uint8_t kPassword = 0x40;
constexpr uint8_t kUserName = 0x80;

CloseReason ReadProtocol(Reader* reader, uint8_t* level) {
  *level = 0;
  std::string_view name;
  uint8_t value = 0;
  if (!reader->Text(&name) || !reader->U8(&value)) return CloseReason::kMalformed;
  *level = value;
  if (name == "MQTT") {
    const bool served = value == kLevel311 || value == kLevel5;
    return served ? CloseReason::kNone : CloseReason::kUnsupportedVersion;
  }
  if (name == "MQIsdp") {
    return value == kLevel31 ? CloseReason::kNone : CloseReason::kUnsupportedVersion;
  }
  return CloseReason::kMalformed;  // [MQTT-3.1.2-1]
}

bool FlagsAgree(uint8_t flags, uint8_t level) {
  // [MQTT-3.1.2-3]; 3.1 does not use the bit.
  if ((flags & kReserved) != 0 && level != kLevel31) return false;
  if ((flags & kWill) == 0) {
    // [MQTT-3.1.2-11], [MQTT-3.1.2-13], [MQTT-3.1.2-15] No will, no will QoS and retain.
    if ((flags & (kWillQos | kWillRetain)) != 0) return false;
  } else if ((flags & kWillQos) == kWillQos) {
    return false;  // [MQTT-3.1.2-14]
  }
  // [MQTT-3.1.2-22] No password without a user name. 5 allows it (3.1.2.9).
  if (level == kLevel5) return true;
  return (flags & kPassword) == 0 || (flags & kUserName) != 0;
}

Fault ReadWill(Reader* reader, uint8_t flags, uint8_t level, size_t max_topic_levels, Will* will) {
  if (level == kLevel5) {
    const Fault fault = ReadProperties(reader, PropertyPlace::kWill, &will->properties);
    if (fault) return fault;
  }
  // [MQTT-3.1.2-9] Topic and message are both present.
  if (!reader->Text(&will->topic) || !reader->Binary(&will->payload)) {
    return CloseReason::kMalformed;
  }
  will->qos = static_cast<uint8_t>((flags & kWillQos) >> 3);
  will->retain = (flags & kWillRetain) != 0;
  const CloseReason reason = CheckTopicName(will->topic, max_topic_levels);  // [MQTT-3.1.3-10]
  if (reason != CloseReason::kNone) return reason;
  const std::string_view payload(reinterpret_cast<const char*>(will->payload.data()),
                                 will->payload.size());
  if (will->properties.Number(Property::kPayloadFormat) == 1 && !ValidUtf8Payload(payload)) {
    return {CloseReason::kBadUtf8, reason::kPayloadFormatInvalid};
  }
  return {};
}

// 5: 3.1.2.11. The server sends neither topic aliases nor response information nor reason strings,
// so the properties about aliases, response information and problem information have no effect.
Fault ReadConnectProperties(Reader* reader, Connect* connect) {
  Properties& all = connect->properties;
  const Fault fault = ReadProperties(reader, PropertyPlace::kConnect, &all);
  if (fault) return fault;
  connect->session_expiry_s = all.Number(Property::kSessionExpiry).value_or(0);
  connect->maximum_packet = all.Number(Property::kMaximumPacketSize).value_or(0);
  connect->receive_maximum =
      static_cast<uint16_t>(all.Number(Property::kReceiveMaximum).value_or(65535));
  // 5: 3.1.2.11.10 Data without a method is a Protocol Error.
  const bool method = all.Text(Property::kAuthenticationMethod).has_value();
  if (!method && all.Text(Property::kAuthenticationData)) {
    return {CloseReason::kBadProperty, reason::kProtocolError};
  }
  return {};
}

// 3.1 lets a client set the flags and leave the strings out: the Remaining Length takes precedence.
// 3.1.1 does not [MQTT-3.1.2-19], [MQTT-3.1.2-21].
bool LeftOut(const Reader& reader, uint8_t level) { return level == kLevel31 && reader.empty(); }

Fault ReadCredentials(Reader* reader, uint8_t flags, Connect* connect) {
  if ((flags & kUserName) != 0 && !LeftOut(*reader, connect->protocol_level)) {
    std::string_view user_name;
    if (!reader->Text(&user_name)) return CloseReason::kMalformed;
    if (!ValidUtf8(user_name)) return CloseReason::kBadUtf8;  // [MQTT-3.1.3-11]
    connect->user_name = user_name;
  }
  if ((flags & kPassword) != 0 && !LeftOut(*reader, connect->protocol_level)) {
    std::span<const uint8_t> password;
    if (!reader->Binary(&password)) return CloseReason::kMalformed;
    connect->password = password;
  }
  return {};
}

}  // namespace

CloseReason ParseProtocol(std::span<const uint8_t> body, uint8_t* level) {
  Reader reader(body);
  return ReadProtocol(&reader, level);
}

Fault ParseConnect(std::span<const uint8_t> body, size_t max_topic_levels, Connect* connect) {
  Reader reader(body);
  // The level comes first, because other versions may use another layout.
  const CloseReason reason = ReadProtocol(&reader, &connect->protocol_level);
  if (reason != CloseReason::kNone) return reason;
  uint8_t flags = 0;
  if (!reader.U8(&flags)) return CloseReason::kMalformed;
  if (!FlagsAgree(flags, connect->protocol_level)) return CloseReason::kBadFlags;
  connect->clean_session = (flags & kCleanSession) != 0;
  if (!reader.U16(&connect->keep_alive_s)) return CloseReason::kMalformed;
  Fault fault;
  if (connect->protocol_level == kLevel5) {
    fault = ReadConnectProperties(&reader, connect);
    if (fault) return fault;
  }
  // [MQTT-3.1.3-1] Client identifier, will topic, will message, user name, password. Like other
  // brokers, this one does not enforce the limit of 23 characters that 3.1 sets for the identifier.
  if (!reader.Text(&connect->client_id)) return CloseReason::kMalformed;  // [MQTT-3.1.3-3]
  if (!ValidUtf8(connect->client_id)) return CloseReason::kBadUtf8;       // [MQTT-3.1.3-4]
  if ((flags & kWill) != 0) {
    fault = ReadWill(&reader, flags, connect->protocol_level, max_topic_levels,
                     &connect->will.emplace());
    if (fault) return fault;
  }
  fault = ReadCredentials(&reader, flags, connect);
  if (fault) return fault;
  // [MQTT-3.1.2-18], [MQTT-3.1.2-20] No field without its flag.
  if (!reader.empty()) return CloseReason::kMalformed;
  // 5: 4.12 Enhanced authentication is not supported. Checked last, so that only a valid packet
  // gets this reason.
  const bool method = connect->properties.Text(Property::kAuthenticationMethod).has_value();
  return method ? CloseReason::kAuthMethod : CloseReason::kNone;
}

}  // namespace seganet::mqtt
