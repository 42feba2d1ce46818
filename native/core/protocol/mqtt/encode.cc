#include "core/protocol/mqtt/encode.h"

#include "core/base/require.h"

namespace seganet::mqtt {
namespace {

constexpr uint8_t kRetain = 0x01;
constexpr uint8_t kQos1 = 0x02;
constexpr uint8_t kDup = 0x08;

char FirstByte(PacketType type, uint8_t flags = 0) {
  return static_cast<char>(static_cast<unsigned>(type) << 4 | flags);
}

// 2.2.3, and 1.5.5 of 5.
void AppendVariable(std::string* out, size_t value) {
  do {
    const size_t low = value & 0x7F;
    value >>= 7;
    out->push_back(static_cast<char>(value != 0 ? low | 0x80 : low));
  } while (value != 0);
}

size_t VariableBytes(size_t value) {
  size_t bytes = 1;
  for (; value >= 0x80; value >>= 7) ++bytes;
  return bytes;
}

void AppendU16(std::string* out, size_t value) {
  out->push_back(static_cast<char>(value >> 8));
  out->push_back(static_cast<char>(value & 0xFF));
}

// SUBACK and UNSUBACK.
void AppendCodes(std::string* out, PacketType type, uint8_t level, uint16_t packet_id,
                 std::string_view codes) {
  out->push_back(FirstByte(type));
  const bool five = level == kLevel5;
  AppendVariable(out, 2 + (five ? 1 : 0) + codes.size());
  AppendU16(out, packet_id);
  if (five) out->push_back(0);  // no properties
  out->append(codes);
}

size_t PropertyBytes(const OutgoingPublish& publish) {
  size_t bytes = 0;
  for (uint32_t number : publish.subscription_identifiers) bytes += 1 + VariableBytes(number);
  return bytes;
}

size_t RemainingLength(uint8_t level, const OutgoingPublish& publish) {
  size_t bytes = 2 + publish.topic.size() + (publish.packet_id != 0 ? 2 : 0);
  bytes += publish.payload.size();
  if (level != kLevel5) return bytes;
  const size_t properties = PropertyBytes(publish);
  return bytes + VariableBytes(properties) + properties;
}

}  // namespace

uint8_t ReasonCodeOf(ConnectCode code) {
  switch (code) {
    case ConnectCode::kAccepted:
      return reason::kSuccess;
    case ConnectCode::kUnacceptableVersion:
      return reason::kUnsupportedVersion;
    case ConnectCode::kIdentifierRejected:
      return reason::kIdentifierNotValid;
    case ConnectCode::kServerUnavailable:
      return reason::kServerUnavailable;
    case ConnectCode::kBadCredentials:
      return reason::kBadCredentials;
    case ConnectCode::kNotAuthorized:
      return reason::kNotAuthorized;
  }
  return reason::kUnspecified;
}

void AppendConnack(std::string* out, bool session_present, ConnectCode code) {
  const char packet[4] = {0x20, 2, static_cast<char>(session_present), static_cast<char>(code)};
  out->append(packet, sizeof(packet));
}

void AppendConnack5(std::string* out, bool session_present, uint8_t code,
                    std::string_view properties) {
  out->push_back(FirstByte(PacketType::kConnack));
  AppendVariable(out, 2 + VariableBytes(properties.size()) + properties.size());
  out->push_back(static_cast<char>(session_present));
  out->push_back(static_cast<char>(code));
  AppendVariable(out, properties.size());
  out->append(properties);
}

std::string ConnectRefusal(uint8_t level, const Fault& fault) {
  std::string out;
  if (!fault) return out;
  if (fault == CloseReason::kUnsupportedVersion) {
    // A mosquitto bridge sets the highest bit of its level, and understands the answers of 3.1.1.
    if (level > kLevel5 && level < 0x80) {
      AppendConnack5(&out, false, reason::kUnsupportedVersion, {});
    } else {
      AppendConnack(&out, false, ConnectCode::kUnacceptableVersion);
    }
  } else if (level == kLevel5) {
    AppendConnack5(&out, false, fault.code, {});
  }
  return out;  // [MQTT-3.1.4-1] 3.x: no CONNACK
}

std::string LoginRefusal(uint8_t level, ConnectCode code) {
  SEGANET_REQUIRE(code != ConnectCode::kAccepted);
  std::string out;
  if (level == kLevel5) {
    AppendConnack5(&out, false, ReasonCodeOf(code), {});
  } else {
    AppendConnack(&out, false, code);
  }
  return out;
}

// Appends four bytes at once: PUBACK is on the hot path, and a length known to the compiler is
// twice as fast.
void AppendAnswer(std::string* out, PacketType type, uint16_t packet_id, uint8_t code) {
  const uint8_t flags = type == PacketType::kPubrel ? kQos1 : 0;  // [MQTT-3.6.1-1]
  const char packet[4] = {FirstByte(type, flags), static_cast<char>(code == 0 ? 2 : 3),
                          static_cast<char>(packet_id >> 8), static_cast<char>(packet_id & 0xFF)};
  out->append(packet, sizeof(packet));
  if (code != 0) out->push_back(static_cast<char>(code));
}

void AppendSuback(std::string* out, uint8_t level, uint16_t packet_id, std::string_view codes) {
  AppendCodes(out, PacketType::kSuback, level, packet_id, codes);
}

void AppendUnsuback(std::string* out, uint8_t level, uint16_t packet_id, std::string_view codes) {
  AppendCodes(out, PacketType::kUnsuback, level, packet_id,
              level == kLevel5 ? codes : std::string_view());
}

void AppendPingresp(std::string* out) {
  const char packet[2] = {FirstByte(PacketType::kPingresp), 0};
  out->append(packet, sizeof(packet));
}

void AppendDisconnect5(std::string* out, uint8_t code, std::string_view server_reference) {
  SEGANET_REQUIRE(server_reference.size() <= kMostServerReferenceBytes);
  out->push_back(FirstByte(PacketType::kDisconnect));
  if (server_reference.empty()) {
    out->push_back(1);
    out->push_back(static_cast<char>(code));
    return;
  }
  const size_t properties = 3 + server_reference.size();
  out->push_back(static_cast<char>(2 + properties));
  out->push_back(static_cast<char>(code));
  out->push_back(static_cast<char>(properties));
  out->push_back(static_cast<char>(Property::kServerReference));
  AppendU16(out, server_reference.size());
  out->append(server_reference);
}

size_t PublishBytes(uint8_t level, const OutgoingPublish& publish) {
  const size_t remaining = RemainingLength(level, publish);
  return 1 + VariableBytes(remaining) + remaining;
}

void AppendPublish(std::string* out, uint8_t level, const OutgoingPublish& publish) {
  const uint8_t flags =
      static_cast<uint8_t>((publish.packet_id != 0 ? kQos1 : 0) | (publish.dup ? kDup : 0) |
                           (publish.retain ? kRetain : 0));
  out->push_back(FirstByte(PacketType::kPublish, flags));
  AppendVariable(out, RemainingLength(level, publish));
  AppendU16(out, publish.topic.size());
  out->append(publish.topic);
  if (publish.packet_id != 0) AppendU16(out, publish.packet_id);
  if (level == kLevel5) {
    AppendVariable(out, PropertyBytes(publish));
    for (uint32_t number : publish.subscription_identifiers) {
      out->push_back(static_cast<char>(Property::kSubscriptionIdentifier));
      AppendVariable(out, number);
    }
  }
  out->append(publish.payload);
}

}  // namespace seganet::mqtt
