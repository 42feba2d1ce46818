// Packets of the engine tests' devices beyond a bare CONNECT and PUBLISH.
#ifndef SEGANET_TEST_SUPPORT_DEVICE_PACKETS_H_
#define SEGANET_TEST_SUPPORT_DEVICE_PACKETS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "test/support/device_client.h"
#include "test/support/mqtt_bytes.h"

namespace seganet::test {

using mqtt_test::Bytes;
using mqtt_test::Lit;
using mqtt_test::Packet;
using mqtt_test::Str;
using mqtt_test::U16;

inline constexpr std::string_view kIdentifierRejected{"\x20\x02\0\x02", 4};  // a CONNACK

struct Login {
  std::string id = "d";
  uint8_t level = 4;
  bool clean = true;
  uint16_t keep_alive = 0;
  Bytes properties = {};  // 5
  std::string will_topic = {};
  std::string will_payload = "gone";
  Bytes will_properties = {};  // 5
};

inline Bytes U32(uint32_t value) { return U16(value >> 16) + U16(value & 0xFFFF); }
inline Bytes SessionExpiry(uint32_t seconds) { return Lit("\x11") + U32(seconds); }
inline Bytes WillDelay(uint32_t seconds) { return Lit("\x18") + U32(seconds); }
inline Bytes UserProperty(std::string_view name, std::string_view value) {
  return Lit("\x26") + Str(name) + Str(value);
}
// REQUIRES: fewer than 128 bytes.
inline Bytes Counted(std::string_view properties) {
  return Bytes(1, static_cast<char>(properties.size())) + Bytes(properties);
}

inline Bytes ConnectBytes(const Login& login) {
  const bool five = login.level == 5;
  mqtt_test::ConnectFields fields;
  fields.level = login.level;
  fields.flags = static_cast<uint8_t>(login.clean ? 0x02 : 0);
  fields.keep_alive = login.keep_alive;
  fields.payload = (five ? Counted(login.properties) : "") + Str(login.id);
  if (!login.will_topic.empty()) {
    fields.flags |= 0x0C;  // QoS 1
    if (five) fields.payload += Counted(login.will_properties);
    fields.payload += Str(login.will_topic) + Str(login.will_payload);
  }
  return mqtt_test::ConnectPacket(fields);
}

// Returns the CONNACK.
inline Bytes LogIn(DeviceClient* device, const Login& login) {
  return device->Send(ConnectBytes(login)) ? device->ReceivePacket() : "";
}

inline bool Accepted(std::string_view connack) {
  return connack.size() >= 4 && connack[0] == 0x20 && connack[3] == 0;
}
inline bool SessionPresent(std::string_view connack) { return connack.size() >= 4 && connack[2]; }

// Returns the SUBACK's last byte.
inline int Subscribe(DeviceClient* device, std::string_view filter, int level = 4, int qos = 1) {
  const Bytes body = U16(77) + (level == 5 ? Lit("\0") : "") + Str(filter) + static_cast<char>(qos);
  if (!device->Send(Packet(0x82, body))) return -1;
  const Bytes suback = device->ReceivePacket();
  return suback.empty() ? -1 : static_cast<uint8_t>(suback.back());
}

inline Bytes Publish5(std::string_view topic, unsigned id, std::string_view payload,
                      std::string_view properties = "") {
  return Packet(0x32, Str(topic) + U16(id) + Counted(properties) + Bytes(payload));
}

// Of a PUBLISH with QoS 1 that a device of 3.1.1 received.
inline unsigned PacketId(std::string_view publish) {
  const size_t at =
      4 + (size_t{static_cast<uint8_t>(publish[2])} << 8) + static_cast<uint8_t>(publish[3]);
  return (unsigned{static_cast<uint8_t>(publish[at])} << 8) | static_cast<uint8_t>(publish[at + 1]);
}

}  // namespace seganet::test

#endif  // SEGANET_TEST_SUPPORT_DEVICE_PACKETS_H_
