#include "core/protocol/coap/option_reader.h"

#include "core/base/require.h"

namespace seganet::coap {

uint32_t UintOf(std::string_view value) {
  SEGANET_REQUIRE(value.size() <= 4);
  uint32_t number = 0;
  for (const char c : value) number = number << 8 | static_cast<uint8_t>(c);
  return number;
}

}  // namespace seganet::coap
