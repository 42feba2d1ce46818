// The token of a CoAP request.
#ifndef SEGANET_CORE_PROTOCOL_COAP_TOKEN_H_
#define SEGANET_CORE_PROTOCOL_COAP_TOKEN_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "core/base/require.h"
#include "core/protocol/coap/codes.h"

namespace seganet::coap {

// A copy of a request's token, kept until the request is answered.
class Token {
 public:
  Token() = default;
  // REQUIRES: text.size() <= kMaxTokenBytes.
  explicit Token(std::string_view text) : size_(static_cast<uint8_t>(text.size())) {
    SEGANET_REQUIRE(text.size() <= kMaxTokenBytes);
    std::copy(text.begin(), text.end(), bytes_.begin());
  }

  std::string_view text() const { return {bytes_.data(), size_}; }

 private:
  std::array<char, kMaxTokenBytes> bytes_{};
  uint8_t size_ = 0;
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_TOKEN_H_
