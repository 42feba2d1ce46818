// The prefix of an encoded payload, where the packet has no properties that describe it: MQTT
// 3.1.1, and each payload that was compressed with a dictionary.
#ifndef SEGANET_CORE_ENCODING_PAYLOAD_PREFIX_H_
#define SEGANET_CORE_ENCODING_PAYLOAD_PREFIX_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/encoding/compressor.h"

namespace seganet {

// FE 53 47, version 1. Byte FE occurs in no UTF-8 text, begins no CBOR item [RFC 8949, 3], and no
// zstd frame or zlib stream.
inline constexpr std::string_view kPrefixMagic(
    "\xFE"
    "SG\x01",
    4);
inline constexpr size_t kDictionaryHashBytes = 8;
using DictionaryHash = std::array<uint8_t, kDictionaryHashBytes>;

// Number of NDJSON in a prefix (docs/reference/messages.md).
inline constexpr uint8_t kNdjsonFormat = 0;

// Set in the byte of the compression if the hash of a dictionary follows.
inline constexpr uint8_t kHasDictionary = 0x80;

// Appends magic, u8 format, u8 compression, and the hash of the dictionary if there is one.
inline void AppendPrefix(uint8_t format, Compression compression, const DictionaryHash* dictionary,
                         std::string* out) {
  out->append(kPrefixMagic);
  out->push_back(static_cast<char>(format));
  out->push_back(
      static_cast<char>(static_cast<uint8_t>(compression) | (dictionary ? kHasDictionary : 0)));
  if (dictionary) {
    out->append(reinterpret_cast<const char*>(dictionary->data()), dictionary->size());
  }
}

}  // namespace seganet

#endif  // SEGANET_CORE_ENCODING_PAYLOAD_PREFIX_H_
