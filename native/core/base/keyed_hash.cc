#include "core/base/keyed_hash.h"

#include <bit>
#include <cstddef>
#include <cstring>
#include <random>

#include "core/base/require.h"

namespace seganet {
namespace {

struct SipState {
  uint64_t v0, v1, v2, v3;

  void Round() {
    v0 += v1;
    v2 += v3;
    v1 = std::rotl(v1, 13) ^ v0;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 = std::rotl(v0, 32);
    v2 += v1;
    v0 += v3;
    v1 = std::rotl(v1, 17) ^ v2;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 = std::rotl(v2, 32);
  }

  void Word(uint64_t word) {
    v3 ^= word;
    Round();
    Round();
    v0 ^= word;
  }
};

// Reads n bytes as a little-endian number. REQUIRES: n <= 8.
uint64_t Little(const char* bytes, size_t n) {
  SEGANET_REQUIRE(n <= 8);
  uint64_t word = 0;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(&word, bytes, n);
  } else {
    for (size_t i = 0; i < n; ++i) word |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  }
  return word;
}

}  // namespace

uint64_t KeyedHash(uint64_t key0, uint64_t key1, std::string_view bytes) {
  SipState s{key0 ^ 0x736f6d6570736575, key1 ^ 0x646f72616e646f6d, key0 ^ 0x6c7967656e657261,
             key1 ^ 0x7465646279746573};
  size_t i = 0;
  for (; bytes.size() - i >= 8; i += 8) s.Word(Little(bytes.data() + i, 8));
  const uint64_t word = Little(bytes.data() + i, bytes.size() - i);  // the rest
  s.Word(word | uint64_t{bytes.size()} << 56);
  s.v2 ^= 0xFF;
  for (int round = 0; round < 4; ++round) s.Round();
  return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

KeyedStringHash::KeyedStringHash() {
  std::random_device random;
  key0_ = uint64_t{random()} << 32 | random();
  key1_ = uint64_t{random()} << 32 | random();
}

SecretNumbers SecretNumbers::Random() {
  std::random_device random;
  return SecretNumbers(uint64_t{random()} << 32 | random());
}

uint64_t SecretNumbers::Next() {
  ++count_;
  char bytes[8];
  for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(count_ >> (8 * i));
  return KeyedHash(secret_, 2, {bytes, sizeof bytes});
}

}  // namespace seganet
