// Checks that bytes are a CBOR map (RFC 8949).
#ifndef SEGANET_CORE_PROTOCOL_CBOR_CBOR_MAP_H_
#define SEGANET_CORE_PROTOCOL_CBOR_CBOR_MAP_H_

#include <cstddef>
#include <string_view>

namespace seganet {

struct CborBounds {
  size_t bytes = 65'536;
  size_t depth = 16;     // maps and arrays in one another
  size_t items = 8'192;  // with keys, and the pieces of strings without a length
};

// True if the bytes are one well-formed map within the bounds, with nothing after it: all keys of
// all maps are text, text is UTF-8, and there are no tags. Takes time in proportion to the bytes,
// and no memory.
bool IsCborMap(std::string_view bytes, const CborBounds& bounds);

}  // namespace seganet

#endif  // SEGANET_CORE_PROTOCOL_CBOR_CBOR_MAP_H_
