// Checks any bytes against the rules of CBOR maps. The first two bytes are the bounds.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/protocol/cbor/cbor_map.h"

namespace {

void Check(bool good) {
  if (!good) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const seganet::CborBounds bounds{.bytes = 4096, .depth = data[0], .items = data[1] * 16u};
  // A copy, so that a read behind the end is found.
  const std::string bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  if (!seganet::IsCborMap(bytes, bounds)) return 0;
  Check(bytes.size() <= bounds.bytes && static_cast<uint8_t>(bytes[0]) >> 5 == 5);
  // The map ends where the bytes end, and larger bounds change nothing.
  Check(!seganet::IsCborMap(bytes + '\0', bounds));
  Check(!seganet::IsCborMap(std::string_view(bytes).substr(0, bytes.size() - 1), bounds));
  Check(seganet::IsCborMap(bytes, {.bytes = 1 << 20, .depth = 1000, .items = 1 << 20}));
  return 0;
}
