#include "core/base/jenkins.h"

#include <bit>

namespace seganet {
namespace {

struct State {
  uint32_t a, b, c;

  void Mix() {
    a -= c, a ^= std::rotl(c, 4), c += b;
    b -= a, b ^= std::rotl(a, 6), a += c;
    c -= b, c ^= std::rotl(b, 8), b += a;
    a -= c, a ^= std::rotl(c, 16), c += b;
    b -= a, b ^= std::rotl(a, 19), a += c;
    c -= b, c ^= std::rotl(b, 4), b += a;
  }

  void Final() {
    c ^= b, c -= std::rotl(b, 14);
    a ^= c, a -= std::rotl(c, 11);
    b ^= a, b -= std::rotl(a, 25);
    c ^= b, c -= std::rotl(b, 16);
    a ^= c, a -= std::rotl(c, 4);
    b ^= a, b -= std::rotl(a, 14);
    c ^= b, c -= std::rotl(b, 24);
  }
};

// Returns the little-endian word at `at`. Missing bytes are zero, as in lookup3's tail switch.
uint32_t Word(std::string_view bytes, size_t at) {
  uint32_t word = 0;
  for (size_t i = 0; i < 4 && at + i < bytes.size(); ++i) {
    word |= uint32_t{static_cast<uint8_t>(bytes[at + i])} << (8 * i);
  }
  return word;
}

}  // namespace

uint32_t JenkinsHash(std::string_view key, uint32_t seed) {
  const uint32_t start = 0xdeadbeef + static_cast<uint32_t>(key.size()) + seed;
  State s{start, start, start};
  while (key.size() > 12) {
    s.a += Word(key, 0), s.b += Word(key, 4), s.c += Word(key, 8);
    s.Mix();
    key.remove_prefix(12);
  }
  if (key.empty()) return s.c;
  s.a += Word(key, 0), s.b += Word(key, 4), s.c += Word(key, 8);
  s.Final();
  return s.c;
}

}  // namespace seganet
