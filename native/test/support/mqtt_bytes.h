#ifndef SEGANET_TEST_SUPPORT_MQTT_BYTES_H_
#define SEGANET_TEST_SUPPORT_MQTT_BYTES_H_

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

inline Bytes UncleanConnect() {
  ConnectFields fields;
  fields.flags = 0;
  return ConnectPacket(fields);
}

// Of the server.
inline const Bytes kConnackOk = Lit("\x20\x02\x00\x00");

// MQTT 5: a block of properties with its length.
inline Bytes Props(std::string_view properties = {}) { return Packet(0, properties).substr(1); }

inline Bytes Connect5(std::string_view properties = {}, uint8_t flags = 0x02,
                      const Bytes& payload = Str("dev-1"), uint16_t keep_alive = 60) {
  return Packet(0x10, Str("MQTT") + '\x05' + static_cast<char>(flags) + U16(keep_alive) +
                          Props(properties) + payload);
}

inline Bytes Publish5(uint8_t first, std::string_view topic, unsigned id,
                      std::string_view properties, std::string_view payload) {
  return Packet(first, Str(topic) + ((first & 6) != 0 ? U16(id) : Bytes()) + Props(properties) +
                           Bytes(payload));
}

inline Bytes Publish2(std::string_view topic, unsigned id, std::string_view payload,
                      uint8_t first = 0x34) {
  return Packet(first, Str(topic) + U16(id) + Bytes(payload));
}

inline Bytes Pubrel(unsigned id) { return Lit("\x62\x02") + U16(id); }
inline Bytes Pubrec(unsigned id) { return Lit("\x50\x02") + U16(id); }
inline Bytes Pubcomp(unsigned id) { return Lit("\x70\x02") + U16(id); }

inline Bytes Subscribe(unsigned id, std::string_view filter, char qos = 1) {
  return Packet(0x82, U16(id) + Str(filter) + qos);
}
inline Bytes Subscribe5(unsigned id, std::string_view filter, char options = 1,
                        std::string_view properties = {}) {
  return Packet(0x82, U16(id) + Props(properties) + Str(filter) + options);
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

// The same for MQTT 5.
inline Bytes MixedStream5() {
  const Bytes will = Props(Lit("\x18\x00\x00\x00\x05\x01\x01\x26") + Str("k") + Str("v"));
  Bytes stream =
      Connect5(Lit("\x11\x00\x00\x00\x0A\x21\x00\x02\x22\x00\x05\x26") + Str("a") + Str("b"), 0xEE,
               Str("dev-5") + will + Str("will/dev-5") + Str("gone") + Str("user") + Str("secret"));
  stream += Publish5(0x30, "plain", 0, "", "1");
  stream += Publish5(0x32, "alias/one", 1, Lit("\x23\x00\x01"), "2");
  stream += Publish5(0x32, "", 2, Lit("\x23\x00\x01\x01\x01"), "gr\xC3\xBC\xC3\x9F");
  stream += Publish5(0x32, "bad", 3, Lit("\x01\x01"), "\xFF");
  stream += Publish5(0x34, "twice", 4,
                     Lit("\x03") + Str("text/plain") + Lit("\x02\x00\x00\x00\x3C"), "3");
  stream += Publish5(0x3C, "twice", 4, "", "3");
  stream += Packet(0x82, U16(5) + Props(Lit("\x0B\x07\x26") + Str("x") + Str("y")) + Str("cmd/#") +
                             '\x2D' + Str("$share/g/x") + '\x01' + Str("no") + '\x02');
  stream += Packet(0xA2, U16(6) + Props() + Str("cmd/#") + Str("never"));
  stream += Packet(0x40, U16(9) + '\x10' + Props(Lit("\x1F") + Str("why")));
  stream += Packet(0xC0, "");
  for (unsigned id = 10; id < 20; ++id)
    stream += Publish5(0x32, "burst", id, "", std::to_string(id));
  stream += Packet(0xE0, Lit("\x04") + Props(Lit("\x11\x00\x00\x00\x14")));
  return stream;
}

}  // namespace seganet::mqtt_test

#endif  // SEGANET_TEST_SUPPORT_MQTT_BYTES_H_
