// Two views of the same bytes.
#ifndef SEGANET_CORE_BASE_BYTES_H_
#define SEGANET_CORE_BASE_BYTES_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace seganet {

// Returns the bytes as a text.
inline std::string_view TextOf(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace seganet

#endif  // SEGANET_CORE_BASE_BYTES_H_
