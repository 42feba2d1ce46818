// The value of a Block1 or Block2 option (RFC 7959): which block of a body a message carries, and
// the block size.
#ifndef SEGANET_CORE_PROTOCOL_COAP_BLOCK_H_
#define SEGANET_CORE_PROTOCOL_COAP_BLOCK_H_

#include <cstddef>
#include <cstdint>

namespace seganet::coap {

// NUM, M and SZX of RFC 7959 2.2.
struct Block {
  static constexpr uint8_t kLargestExponent = 6;  // blocks of 1,024 bytes
  static constexpr uint8_t kBert = 7;  // RFC 8323 6: several blocks of 1,024 bytes in a message

  uint32_t number = 0;                  // 20 bits
  bool more = false;                    // false = the last block
  uint8_t exponent = kLargestExponent;  // SZX

  // Decodes the option's value.
  static Block Of(uint32_t value) {
    return {value >> 4, (value & 8) != 0, static_cast<uint8_t>(value & 7)};
  }
  uint32_t value() const { return number << 4 | (more ? 8u : 0u) | exponent; }
  // Bytes of one block.
  size_t size() const { return exponent == kBert ? 1024 : size_t{16} << exponent; }
  // Offset of the block in the body, bytes.
  size_t offset() const { return number * size(); }
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_BLOCK_H_
