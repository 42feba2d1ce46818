#ifndef SEGANET_BENCH_COMMON_MQTT_H_
#define SEGANET_BENCH_COMMON_MQTT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The subset of MQTT 3.1.1 that generator and sink need. It shares no code with the gateway on
// purpose: the instrument must not have the same bugs as the measured system.
namespace bench::mqtt {

enum Type : uint8_t {
  kConnect = 1,
  kConnack = 2,
  kPublish = 3,
  kPuback = 4,
  kSubscribe = 8,
  kSuback = 9,
  kPingreq = 12,
  kPingresp = 13,
  kDisconnect = 14,
};

inline void AppendU16(std::string& out, size_t v) {
  out.push_back(static_cast<char>(v >> 8));
  out.push_back(static_cast<char>(v & 0xff));
}

inline void AppendString(std::string& out, std::string_view s) {
  AppendU16(out, s.size());
  out.append(s);
}

inline void AppendHeader(std::string& out, uint8_t first, size_t remaining) {
  out.push_back(static_cast<char>(first));
  do {
    uint8_t byte = remaining & 0x7f;
    remaining >>= 7;
    out.push_back(static_cast<char>(remaining > 0 ? byte | 0x80 : byte));
  } while (remaining > 0);
}

inline void AppendConnect(std::string& out, std::string_view client_id, bool clean,
                          uint16_t keepalive_s) {
  AppendHeader(out, kConnect << 4, 10 + 2 + client_id.size());
  AppendString(out, "MQTT");
  out.push_back(4);
  out.push_back(clean ? 2 : 0);
  AppendU16(out, keepalive_s);
  AppendString(out, client_id);
}

inline void AppendPublish(std::string& out, std::string_view topic, std::string_view payload,
                          uint16_t packet_id, bool dup) {
  AppendHeader(out, static_cast<uint8_t>(kPublish << 4 | (dup ? 8 : 0) | 2),
               2 + topic.size() + 2 + payload.size());
  AppendString(out, topic);
  AppendU16(out, packet_id);
  out.append(payload);
}

// Appends one SUBSCRIBE with all filters.
inline void AppendSubscribe(std::string& out, uint16_t packet_id,
                            const std::vector<std::string_view>& filters, uint8_t qos) {
  size_t remaining = 2;
  for (std::string_view filter : filters) remaining += 2 + filter.size() + 1;
  AppendHeader(out, kSubscribe << 4 | 2, remaining);
  AppendU16(out, packet_id);
  for (std::string_view filter : filters) {
    AppendString(out, filter);
    out.push_back(static_cast<char>(qos));
  }
}

inline void AppendPuback(std::string& out, uint16_t packet_id) {
  AppendHeader(out, kPuback << 4, 2);
  AppendU16(out, packet_id);
}

struct Packet {
  uint8_t type = 0;
  uint8_t flags = 0;
  std::string_view body;
  size_t size = 0;  // of the whole packet

  uint16_t U16(size_t at) const {
    return static_cast<uint16_t>(static_cast<uint8_t>(body[at]) << 8 |
                                 static_cast<uint8_t>(body[at + 1]));
  }
};

enum class Parsed { kPacket, kMore, kBad };

// Reads the packet at the start of `in`; `packet` points into it.
inline Parsed Parse(std::string_view in, Packet* packet) {
  if (in.size() < 2) return Parsed::kMore;
  size_t remaining = 0;
  size_t at = 1;
  for (int shift = 0;; shift += 7) {
    if (shift > 21) return Parsed::kBad;
    if (at >= in.size()) return Parsed::kMore;
    uint8_t byte = static_cast<uint8_t>(in[at++]);
    remaining |= static_cast<size_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) break;
  }
  if (in.size() - at < remaining) return Parsed::kMore;
  packet->type = static_cast<uint8_t>(in[0]) >> 4;
  packet->flags = static_cast<uint8_t>(in[0]) & 0x0f;
  packet->body = in.substr(at, remaining);
  packet->size = at + remaining;
  return Parsed::kPacket;
}

struct Publish {
  std::string_view topic;
  std::string_view payload;
  uint16_t packet_id = 0;
  uint8_t qos = 0;
  bool dup = false;
};

inline bool ParsePublish(const Packet& packet, Publish* out) {
  if (packet.body.size() < 2) return false;
  out->qos = packet.flags >> 1 & 3;
  out->dup = (packet.flags & 8) != 0;
  size_t topic = packet.U16(0);
  size_t head = 2 + topic + (out->qos > 0 ? 2 : 0);
  if (packet.body.size() < head) return false;
  out->topic = packet.body.substr(2, topic);
  if (out->qos > 0) out->packet_id = packet.U16(2 + topic);
  out->payload = packet.body.substr(head);
  return true;
}

}  // namespace bench::mqtt

#endif  // SEGANET_BENCH_COMMON_MQTT_H_
