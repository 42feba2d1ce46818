#ifndef SEGANET_TEST_SUPPORT_COAP_BYTES_H_
#define SEGANET_TEST_SUPPORT_COAP_BYTES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Builds and reads CoAP messages by hand, without the code under test.
namespace seganet::coap_test {

using Bytes = std::string;
using Options = std::vector<std::pair<unsigned, Bytes>>;  // in ascending order of numbers

inline std::span<const uint8_t> Span(std::string_view bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

// Keeps NUL bytes of a literal: Lit("\x40\0").
template <size_t n>
Bytes Lit(const char (&text)[n]) {
  return Bytes(text, n - 1);
}

inline constexpr unsigned kCon = 0, kNon = 1, kAck = 2, kRst = 3;
inline constexpr unsigned kGetCode = 1, kPostCode = 2, kPutCode = 3;
inline constexpr unsigned kPingCode = 0xE2, kPongCode = 0xE3, kReleaseCode = 0xE4,
                          kAbortCode = 0xE5;
// Values of Observe in a request.
inline constexpr std::string_view kRegister, kDeregister = "\x01";

// 204 is 2.04.
inline unsigned Dotted(unsigned code) { return code / 100 << 5 | code % 100; }

inline Bytes Uint(unsigned value) {
  Bytes bytes;
  for (; value > 0; value >>= 8) bytes.insert(bytes.begin(), static_cast<char>(value & 0xFF));
  return bytes;
}

inline Bytes BlockValue(unsigned number, bool more, unsigned exponent) {
  return Uint(number << 4 | (more ? 8 : 0) | exponent);
}

inline Bytes Body(const Options& options, std::string_view payload) {
  Bytes body;
  unsigned last = 0;
  for (const auto& [number, value] : options) {
    Bytes more;
    const auto nibble = [&more](size_t n) -> unsigned {
      if (n < 13) return static_cast<unsigned>(n);
      if (n < 269) {
        more.push_back(static_cast<char>(n - 13));
        return 13;
      }
      more.push_back(static_cast<char>((n - 269) >> 8));
      more.push_back(static_cast<char>((n - 269) & 0xFF));
      return 14;
    };
    const unsigned delta = nibble(number - last);
    const unsigned size = nibble(value.size());
    body.push_back(static_cast<char>(delta << 4 | size));
    body += more + value;
    last = number;
  }
  if (!payload.empty()) body.append("\xFF").append(payload);
  return body;
}

inline Bytes Datagram(unsigned type, unsigned code, unsigned id, std::string_view token = "",
                      const Options& options = {}, std::string_view payload = "") {
  Bytes bytes;
  bytes.push_back(static_cast<char>(0x40 | type << 4 | token.size()));
  bytes.push_back(static_cast<char>(code));
  bytes.push_back(static_cast<char>(id >> 8));
  bytes.push_back(static_cast<char>(id & 0xFF));
  return bytes.append(token) + Body(options, payload);
}

inline Bytes Frame(unsigned code, std::string_view token = "", const Options& options = {},
                   std::string_view payload = "") {
  const Bytes body = Body(options, payload);
  Bytes more;
  unsigned nibble = static_cast<unsigned>(body.size());
  const auto extend = [&more, &body](unsigned bytes, size_t from) {
    for (unsigned i = bytes; i-- > 0;) {
      more.push_back(static_cast<char>((body.size() - from) >> (8 * i)));
    }
  };
  if (body.size() >= 65805) {
    nibble = 15;
    extend(4, 65805);
  } else if (body.size() >= 269) {
    nibble = 14;
    extend(2, 269);
  } else if (body.size() >= 13) {
    nibble = 13;
    extend(1, 13);
  }
  Bytes frame(1, static_cast<char>(nibble << 4 | token.size()));
  frame += more;
  frame.push_back(static_cast<char>(code));
  return frame.append(token) + body;
}

inline constexpr unsigned kCsmCode = 0xE1;
inline Bytes Csm() { return Frame(kCsmCode, "", {{2, Uint(1 << 20)}, {4, ""}}); }

// The path as options, followed by more.
inline Options Path(std::string_view path, const Options& more = {}) {
  Options options;
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    options.emplace_back(11, Bytes(path.substr(at, end - at)));
    at = end + 1;
  }
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

// A message from the server; `good` is false when it is not well-formed.
struct Read {
  bool good = false;
  unsigned type = 0, code = 0, id = 0;
  Bytes token;
  Options options;
  Bytes payload;

  bool Has(unsigned number) const {
    for (const auto& option : options) {
      if (option.first == number) return true;
    }
    return false;
  }
  Bytes Text(unsigned number) const {
    for (const auto& option : options) {
      if (option.first == number) return option.second;
    }
    return "(none)";
  }
  unsigned Number(unsigned number) const {
    unsigned value = 0;
    for (const char c : Text(number)) value = value << 8 | static_cast<uint8_t>(c);
    return Has(number) ? value : ~0u;
  }
  unsigned dotted() const { return (code >> 5) * 100 + (code & 31); }
};

inline void ReadBody(std::string_view body, Read* read) {
  unsigned last = 0;
  for (size_t at = 0; at < body.size();) {
    const auto byte = [&body](size_t i) { return static_cast<uint8_t>(body.at(i)); };
    const unsigned first = byte(at++);
    if (first == 0xFF) {
      read->payload = body.substr(at);
      read->good = !read->payload.empty();
      return;
    }
    const auto extend = [&](unsigned nibble) -> unsigned {
      if (nibble == 13) return 13u + byte(at++);
      if (nibble != 14) return nibble;
      at += 2;
      return 269u + (byte(at - 2) << 8 | byte(at - 1));
    };
    last += extend(first >> 4);
    const unsigned size = extend(first & 15);
    if (body.size() - at < size) return;
    read->options.emplace_back(last, Bytes(body.substr(at, size)));
    at += size;
  }
  read->good = true;
}

inline Read ReadDatagram(std::string_view bytes) {
  Read read;
  const auto byte = [&bytes](size_t i) { return static_cast<uint8_t>(bytes.at(i)); };
  if (bytes.size() < 4 || byte(0) >> 6 != 1) return read;
  read.type = byte(0) >> 4 & 3;
  read.code = byte(1);
  read.id = byte(2) << 8 | byte(3);
  read.token = bytes.substr(4, byte(0) & 15);
  ReadBody(bytes.substr(4 + read.token.size()), &read);
  return read;
}

// Takes whole messages off the front.
inline std::vector<Read> ReadFrames(std::string_view bytes) {
  std::vector<Read> all;
  while (!bytes.empty()) {
    const auto byte = [&bytes](size_t i) { return static_cast<uint8_t>(bytes.at(i)); };
    size_t at = 1;
    size_t size = byte(0) >> 4;
    if (size >= 13) {
      const size_t extra = size_t{1} << (size - 13);
      const size_t from = size == 13 ? 13 : size == 14 ? 269 : 65805;
      size = 0;
      for (; at <= extra; ++at) size = size << 8 | byte(at);
      size += from;
    }
    Read read;
    read.code = byte(at++);
    read.token = bytes.substr(at, byte(0) & 15);
    at += read.token.size();
    ReadBody(bytes.substr(at, size), &read);
    all.push_back(read);
    bytes.remove_prefix(std::min(at + size, bytes.size()));
  }
  return all;
}

}  // namespace seganet::coap_test

#endif  // SEGANET_TEST_SUPPORT_COAP_BYTES_H_
