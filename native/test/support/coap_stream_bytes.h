// CoAP over TCP (RFC 8323) for tests: frames, and a device's end of a connection.
#ifndef SEGANET_TEST_SUPPORT_COAP_STREAM_BYTES_H_
#define SEGANET_TEST_SUPPORT_COAP_STREAM_BYTES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "test/support/coap_client.h"

namespace seganet::test {

inline constexpr unsigned kCoapCsm = 0xE1, kCoapPing = 0xE2, kCoapPong = 0xE3, kCoapRelease = 0xE4,
                          kCoapAbort = 0xE5;

// RFC 8323 3.2: the length counts options and payload.
inline std::string CoapFrame(const CoapMessage& m) {
  std::string body = CoapOptionBytes(m.options);
  if (!m.payload.empty()) body += '\xFF' + m.payload;
  const size_t n = body.size();
  std::string bytes;
  const auto head = [&](unsigned nibble, size_t value, int width) {
    bytes.push_back(static_cast<char>(nibble << 4 | m.token.size()));
    for (int i = width - 1; i >= 0; --i) bytes.push_back(static_cast<char>(value >> (8 * i) & 255));
  };
  if (n < 13) {
    head(static_cast<unsigned>(n), 0, 0);
  } else if (n < 269) {
    head(13, n - 13, 1);
  } else if (n < 65'805) {
    head(14, n - 269, 2);
  } else {
    head(15, n - 65'805, 4);
  }
  bytes.push_back(static_cast<char>(m.code));
  return bytes + m.token + body;
}

inline CoapMessage CoapSignal(unsigned code, std::string token = "") {
  CoapMessage m;
  m.code = code;
  m.token = std::move(token);
  return m;
}

// Takes the first whole message off `*bytes`.
inline std::optional<CoapMessage> TakeCoapFrame(std::string* bytes) {
  const auto at = [bytes](size_t i) {
    return static_cast<size_t>(static_cast<uint8_t>((*bytes)[i]));
  };
  if (bytes->empty()) return std::nullopt;
  const size_t nibble = at(0) >> 4;
  const size_t width = nibble < 13 ? 0 : size_t{1} << (nibble - 13);
  if (bytes->size() < 2 + width) return std::nullopt;
  size_t value = 0;
  for (size_t i = 0; i < width; ++i) value = value << 8 | at(1 + i);
  const size_t base[] = {13, 269, 65'805};
  const size_t length = width == 0 ? nibble : base[nibble - 13] + value;
  const size_t token = at(0) & 15;
  const size_t size = 2 + width + token + length;
  if (bytes->size() < size) return std::nullopt;
  CoapMessage m;
  m.code = static_cast<unsigned>(at(1 + width));
  m.token = bytes->substr(2 + width, token);
  ReadCoapBody(std::string_view(*bytes).substr(2 + width + token, length), &m);
  bytes->erase(0, size);
  return m;
}

}  // namespace seganet::test

#endif  // SEGANET_TEST_SUPPORT_COAP_STREAM_BYTES_H_
