#ifndef SEGANET_CORE_PROTOCOL_MQTT_ENCODE_H_
#define SEGANET_CORE_PROTOCOL_MQTT_ENCODE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/protocol/mqtt/codec.h"

// The packets that a server sends.
namespace seganet::mqtt {

// What MQTT 5 says for a code of 3.1.1.
uint8_t ReasonCodeOf(ConnectCode code);

void AppendConnack(std::string* out, bool session_present, ConnectCode code);
// 5. `properties` without their length.
void AppendConnack5(std::string* out, bool session_present, uint8_t code,
                    std::string_view properties);
// The CONNACK for a CONNECT with this fault, empty when its level has none. 5: the reason code; an
// unsupported version: CONNACK 0x01 [MQTT-3.1.2-2], and 0x84 for one above 5 (5: [MQTT-3.1.2-2]).
std::string ConnectRefusal(uint8_t level, const Fault& fault);
// The CONNACK for a login that was refused. REQUIRES: code is not kAccepted.
std::string LoginRefusal(uint8_t level, ConnectCode code);

// PUBACK, PUBREC and PUBCOMP. A `code` of 0 is left out (5: 3.4.2.1); 3.x has none.
void AppendAnswer(std::string* out, PacketType type, uint16_t packet_id, uint8_t code);
inline void AppendPuback(std::string* out, uint16_t packet_id) {
  AppendAnswer(out, PacketType::kPuback, packet_id, 0);
}
void AppendSuback(std::string* out, uint8_t level, uint16_t packet_id, std::string_view codes);
// 3.x has no codes.
void AppendUnsuback(std::string* out, uint8_t level, uint16_t packet_id, std::string_view codes);
void AppendPingresp(std::string* out);
// 5; 3.x has none.
void AppendDisconnect5(std::string* out, uint8_t code);

// A PUBLISH to a device.
struct OutgoingPublish {
  std::string_view topic;
  std::string_view payload;
  std::span<const uint32_t> subscription_identifiers;  // 5
  uint16_t packet_id = 0;                              // 0 = QoS 0
  bool dup = false;
};
// All of it, header included.
size_t PublishBytes(uint8_t level, const OutgoingPublish& publish);
void AppendPublish(std::string* out, uint8_t level, const OutgoingPublish& publish);

}  // namespace seganet::mqtt

#endif  // SEGANET_CORE_PROTOCOL_MQTT_ENCODE_H_
