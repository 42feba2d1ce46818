#ifndef SEGANET_BENCH_COMMON_COAP_H_
#define SEGANET_BENCH_COMMON_COAP_H_

#include <cstdint>
#include <string>
#include <string_view>

// The subset of CoAP over TCP (RFC 8323, 3.2) and over UDP (RFC 7252, 3) that a load generator and
// a bare server need.
namespace bench::coap {

inline constexpr uint8_t kGet = 0x01;
inline constexpr uint8_t kPost = 0x02;
inline constexpr uint8_t kPut = 0x03;
inline constexpr uint8_t kChanged = 0x44;
inline constexpr uint8_t kContent = 0x45;
inline constexpr uint8_t kCsm = 0xE1;
inline constexpr uint8_t kPing = 0xE2;
inline constexpr uint8_t kPong = 0xE3;
inline constexpr uint8_t kUriPath = 11;
inline constexpr uint8_t kContentFormat = 12;
inline constexpr uint8_t kUriQuery = 15;

struct Message {
  uint8_t code = 0;
  std::string_view token;
  std::string_view body;  // options and payload
  size_t size = 0;        // of the whole message
};

enum class Parsed { kOk, kMore, kBad };

inline Parsed Parse(std::string_view in, Message* message) {
  if (in.empty()) return Parsed::kMore;
  const auto byte = [&in](size_t i) { return static_cast<uint8_t>(in[i]); };
  const size_t token = byte(0) & 15;
  size_t length = byte(0) >> 4;
  if (token > 8) return Parsed::kBad;
  size_t head = 1;
  if (length >= 13) {
    const size_t extra = size_t{1} << (length - 13);
    if (in.size() < 1 + extra) return Parsed::kMore;
    const size_t base[] = {13, 269, 65805};
    size_t value = 0;
    for (size_t i = 0; i < extra; ++i) value = value << 8 | byte(1 + i);
    length = base[length - 13 == 2 ? 2 : length - 13] + value;
    head += extra;
  }
  message->size = head + 1 + token + length;
  if (in.size() < message->size) return Parsed::kMore;
  message->code = byte(head);
  message->token = in.substr(head + 1, token);
  message->body = in.substr(head + 1 + token, length);
  return Parsed::kOk;
}

inline void Append(std::string& out, uint8_t code, std::string_view token, std::string_view body) {
  const size_t length = body.size();
  const uint8_t tkl = static_cast<uint8_t>(token.size());
  if (length < 13) {
    out.push_back(static_cast<char>(length << 4 | tkl));
  } else if (length < 269) {
    out.push_back(static_cast<char>(13 << 4 | tkl));
    out.push_back(static_cast<char>(length - 13));
  } else {
    out.push_back(static_cast<char>(14 << 4 | tkl));
    out.push_back(static_cast<char>((length - 269) >> 8));
    out.push_back(static_cast<char>((length - 269) & 255));
  }
  out.push_back(static_cast<char>(code));
  out.append(token);
  out.append(body);
}

// Appends an option. `last`: number of the previous option. REQUIRES: value.size() < 269, a
// difference below 13.
inline void AppendOption(std::string& out, uint8_t* last, uint8_t number, std::string_view value) {
  const auto delta = static_cast<uint8_t>(number - *last);
  *last = number;
  if (value.size() < 13) {
    out.push_back(static_cast<char>(delta << 4 | static_cast<uint8_t>(value.size())));
  } else {
    out.push_back(static_cast<char>(delta << 4 | 13));
    out.push_back(static_cast<char>(value.size() - 13));
  }
  out.append(value);
}

enum Type : uint8_t { kCon = 0, kNon = 1, kAck = 2, kRst = 3 };

// A message over UDP.
struct Datagram {
  uint8_t type = 0;
  uint8_t code = 0;
  uint16_t id = 0;
  std::string_view token;
};

inline bool ParseDatagram(std::string_view in, Datagram* out) {
  if (in.size() < 4) return false;
  const auto byte = [&in](size_t i) { return static_cast<uint8_t>(in[i]); };
  const size_t token = byte(0) & 15;
  if (byte(0) >> 6 != 1 || token > 8 || in.size() < 4 + token) return false;
  out->type = byte(0) >> 4 & 3;
  out->code = byte(1);
  out->id = static_cast<uint16_t>(byte(2) << 8 | byte(3));
  out->token = in.substr(4, token);
  return true;
}

inline void AppendDatagram(std::string& out, uint8_t type, uint8_t code, uint16_t id,
                           std::string_view token) {
  out.push_back(static_cast<char>(0x40 | type << 4 | static_cast<uint8_t>(token.size())));
  out.push_back(static_cast<char>(code));
  out.push_back(static_cast<char>(id >> 8));
  out.push_back(static_cast<char>(id & 255));
  out.append(token);
}

}  // namespace bench::coap

#endif  // SEGANET_BENCH_COMMON_COAP_H_
