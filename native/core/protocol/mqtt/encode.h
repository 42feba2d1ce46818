// Encodes the packets that a server sends. Each Append function appends one packet to `out`.
// `level` is the protocol level of the CONNECT. Clauses are those of MQTT 3.1.1; "5:" marks
// MQTT 5.0.
#ifndef SEGANET_CORE_PROTOCOL_MQTT_ENCODE_H_
#define SEGANET_CORE_PROTOCOL_MQTT_ENCODE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/protocol/mqtt/codec.h"

namespace seganet::mqtt {

// Returns the reason code of MQTT 5 for a return code of 3.1.1.
uint8_t ReasonCodeOf(ConnectCode code);

void AppendConnack(std::string* out, bool session_present, ConnectCode code);
// 5. `properties` are encoded, without their length.
void AppendConnack5(std::string* out, bool session_present, uint8_t code,
                    std::string_view properties);
// Returns the CONNACK for a CONNECT with this fault; empty when the level has none. 5: with the
// fault's reason code. An unsupported version: 0x01 [MQTT-3.1.2-2], or 0x84 for a level above 5
// (5: [MQTT-3.1.2-2]).
std::string ConnectRefusal(uint8_t level, const Fault& fault);
// Returns the CONNACK that refuses a login.
// REQUIRES: code != kAccepted.
std::string LoginRefusal(uint8_t level, ConnectCode code);

// PUBACK, PUBREC, PUBREL and PUBCOMP. A `code` of 0 is omitted (5: 3.4.2.1); 3.x has no code.
void AppendAnswer(std::string* out, PacketType type, uint16_t packet_id, uint8_t code);
inline void AppendPuback(std::string* out, uint16_t packet_id) {
  AppendAnswer(out, PacketType::kPuback, packet_id, 0);
}
// `codes` has one byte for each filter.
void AppendSuback(std::string* out, uint8_t level, uint16_t packet_id, std::string_view codes);
// 3.x ignores the codes.
void AppendUnsuback(std::string* out, uint8_t level, uint16_t packet_id, std::string_view codes);
void AppendPingresp(std::string* out);
// 5. A server of 3.x sends no DISCONNECT. server_reference: of another server, at most
// kMostServerReferenceBytes; empty = none.
void AppendDisconnect5(std::string* out, uint8_t code, std::string_view server_reference = {});
inline constexpr size_t kMostServerReferenceBytes = 120;  // the lengths below take one byte each

// A PUBLISH to a device.
struct OutgoingPublish {
  std::string_view topic;
  std::string_view payload;
  std::span<const uint32_t> subscription_identifiers;  // 5
  uint16_t packet_id = 0;                              // 0 = QoS 0
  bool dup = false;
  bool retain = false;
};
// Returns the size of the packet, header included, bytes.
size_t PublishBytes(uint8_t level, const OutgoingPublish& publish);
void AppendPublish(std::string* out, uint8_t level, const OutgoingPublish& publish);

}  // namespace seganet::mqtt

#endif  // SEGANET_CORE_PROTOCOL_MQTT_ENCODE_H_
