// CONNECT: the one packet with rules enough for a file of its own (3.1).
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
    return value == kLevel311 ? CloseReason::kNone : CloseReason::kUnsupportedVersion;
  }
  if (name == "MQIsdp") {
    return value == kLevel31 ? CloseReason::kNone : CloseReason::kUnsupportedVersion;
  }
  return CloseReason::kMalformed;  // [MQTT-3.1.2-1]
}

bool FlagsAgree(uint8_t flags) {
  if ((flags & kReserved) != 0) return false;  // [MQTT-3.1.2-3]
  if ((flags & kWill) == 0) {
    // [MQTT-3.1.2-11], [MQTT-3.1.2-13], [MQTT-3.1.2-15] No will, no will QoS and retain.
    if ((flags & (kWillQos | kWillRetain)) != 0) return false;
  } else if ((flags & kWillQos) == kWillQos) {
    return false;  // [MQTT-3.1.2-14]
  }
  // [MQTT-3.1.2-22] No password without a user name.
  return (flags & kPassword) == 0 || (flags & kUserName) != 0;
}

CloseReason ReadWill(Reader* reader, uint8_t flags, size_t max_topic_levels, Will* will) {
  // [MQTT-3.1.2-9] Topic and message are both there.
  if (!reader->Text(&will->topic) || !reader->Binary(&will->payload)) {
    return CloseReason::kMalformed;
  }
  will->qos = static_cast<uint8_t>((flags & kWillQos) >> 3);
  will->retain = (flags & kWillRetain) != 0;
  return CheckTopicName(will->topic, max_topic_levels);  // [MQTT-3.1.3-10]
}

// 3.1 lets a client that set the flags leave the strings out: the Remaining Length wins. 3.1.1 does
// not [MQTT-3.1.2-19], [MQTT-3.1.2-21].
bool LeftOut(const Reader& reader, uint8_t level) { return level == kLevel31 && reader.empty(); }

CloseReason ReadCredentials(Reader* reader, uint8_t flags, Connect* connect) {
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
  return CloseReason::kNone;
}

}  // namespace

CloseReason ParseProtocol(std::span<const uint8_t> body, uint8_t* level) {
  Reader reader(body);
  return ReadProtocol(&reader, level);
}

CloseReason ParseConnect(std::span<const uint8_t> body, size_t max_topic_levels, Connect* connect) {
  Reader reader(body);
  // The level comes first: what follows may be laid out differently in another version.
  CloseReason reason = ReadProtocol(&reader, &connect->protocol_level);
  if (reason != CloseReason::kNone) return reason;
  uint8_t flags = 0;
  if (!reader.U8(&flags)) return CloseReason::kMalformed;
  if (!FlagsAgree(flags)) return CloseReason::kBadFlags;
  connect->clean_session = (flags & kCleanSession) != 0;
  if (!reader.U16(&connect->keep_alive_s)) return CloseReason::kMalformed;
  // [MQTT-3.1.3-1] Client identifier, will topic, will message, user name, password. The 23
  // characters that 3.1 limits the identifier to are not enforced, like in other brokers.
  if (!reader.Text(&connect->client_id)) return CloseReason::kMalformed;  // [MQTT-3.1.3-3]
  if (!ValidUtf8(connect->client_id)) return CloseReason::kBadUtf8;       // [MQTT-3.1.3-4]
  if ((flags & kWill) != 0) {
    reason = ReadWill(&reader, flags, max_topic_levels, &connect->will.emplace());
    if (reason != CloseReason::kNone) return reason;
  }
  reason = ReadCredentials(&reader, flags, connect);
  if (reason != CloseReason::kNone) return reason;
  // [MQTT-3.1.2-18], [MQTT-3.1.2-20] Nothing that the flags did not announce.
  return reader.empty() ? CloseReason::kNone : CloseReason::kMalformed;
}

}  // namespace seganet::mqtt
