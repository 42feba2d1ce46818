#ifndef SEGANET_TEST_MQTT_BYTES_H_
#define SEGANET_TEST_MQTT_BYTES_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Builds the client's side of MQTT, by hand and without the code under test.
namespace seganet::mqtt_test {

using Bytes = std::string;

inline std::span<const uint8_t> Span(std::string_view bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

// Keeps NUL bytes of a literal: Lit("\x30\0").
template <size_t n>
Bytes Lit(const char (&text)[n]) {
  return Bytes(text, n - 1);
}

inline Bytes U16(unsigned value) {
  return {static_cast<char>(value >> 8), static_cast<char>(value & 0xFF)};
}

inline Bytes Str(std::string_view text) {
  return U16(static_cast<unsigned>(text.size())) + Bytes(text);
}

inline Bytes Packet(uint8_t first, std::string_view body) {
  Bytes packet(1, static_cast<char>(first));
  size_t left = body.size();
  for (; left >= 128; left /= 128) packet.push_back(static_cast<char>(left % 128 + 128));
  packet.push_back(static_cast<char>(left));
  return packet.append(body);
}

struct ConnectFields {
  std::string name = "MQTT";
  uint8_t level = 4;
  uint8_t flags = 0x02;  // clean session
  uint16_t keep_alive = 60;
  Bytes payload = Str("dev-1");
};

inline Bytes ConnectPacket(const ConnectFields& f = {}) {
  return Packet(0x10, Str(f.name) + static_cast<char>(f.level) + static_cast<char>(f.flags) +
                          U16(f.keep_alive) + f.payload);
}

inline Bytes Publish0(std::string_view topic, std::string_view payload, uint8_t first = 0x30) {
  return Packet(first, Str(topic) + Bytes(payload));
}

inline Bytes Publish1(std::string_view topic, unsigned id, std::string_view payload,
                      uint8_t first = 0x32) {
  return Packet(first, Str(topic) + U16(id) + Bytes(payload));
}

inline Bytes Puback(unsigned id) { return Lit("\x40\x02") + U16(id); }

// Every kind of packet that a well-behaved device sends, some of them large.
inline Bytes MixedStream() {
  ConnectFields connect;
  connect.flags = 0xEE;  // user name, password, retained will of QoS 1, clean session
  connect.payload = Str("dev-1") + Str("will/dev-1") + Str("gone") + Str("user") + Str("secret");
  Bytes stream = ConnectPacket(connect);
  stream += Publish0("a", "");
  stream += Publish1("plant/7/temp", 1, "21.5");
  stream += Packet(0x82, U16(2) + Str("cmd/#") + '\x01' + Str("+/x") + '\x02' + Str("no") + '\0');
  stream += Publish1("plant/7/temp", 3, Bytes(200, 'x'), 0x33);
  stream += Packet(0xC0, "");
  stream += Publish1("gr\xC3\xBC\xC3\x9F/\xF0\x9F\x8C\xA1", 4, Lit("\x00\xFF"), 0x3A);
  stream += Packet(0xA2, U16(5) + Str("cmd/#") + Str("+/x"));
  stream += Packet(0x40, U16(9));
  stream += Publish0("long/one", Bytes(20000, 'y'), 0x31);
  for (unsigned id = 10; id < 30; ++id) stream += Publish1("burst", id, std::to_string(id));
  stream += Packet(0xE0, "");
  return stream;
}

}  // namespace seganet::mqtt_test

#endif  // SEGANET_TEST_MQTT_BYTES_H_
