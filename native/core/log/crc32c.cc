#include "core/log/crc32c.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

// The instructions are enabled for one function only, so that the rest runs on any processor.
#if defined(__x86_64__)
#include <nmmintrin.h>
#ifdef __clang__
// Clang 21 and newer have the instruction as a feature of its own.
#define SEGANET_CRC32C_TARGET __attribute__((target("sse4.2,crc32")))
#else
#define SEGANET_CRC32C_TARGET __attribute__((target("sse4.2")))
#endif
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#define SEGANET_CRC32C_TARGET
#elif defined(__aarch64__) && defined(__linux__) && (!defined(__clang__) || __clang_major__ >= 16)
// GCC declares the intrinsics without the feature; Clang does so since version 16.
#include <arm_acle.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#define SEGANET_CRC32C_TARGET __attribute__((target("+crc")))
#endif

namespace seganet {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78;  // reflected

using Tables = std::array<std::array<uint32_t, 256>, 8>;

// tables[k][b]: effect of byte b on the checksum if k more bytes follow.
constexpr Tables MakeTables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (size_t k = 1; k < tables.size(); ++k) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 255];
    }
  }
  return tables;
}

constexpr Tables kTables = MakeTables();

uint64_t LittleEndian64(const char* at) {
  uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = value << 8 | static_cast<uint8_t>(at[i]);
  return value;
}

#ifdef SEGANET_CRC32C_TARGET

SEGANET_CRC32C_TARGET uint32_t ByInstruction(std::string_view bytes, uint32_t crc) {
  const char* at = bytes.data();
  size_t left = bytes.size();
  crc = ~crc;
  for (; left >= 8; at += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, at, sizeof word);
#if defined(__x86_64__)
    crc = static_cast<uint32_t>(_mm_crc32_u64(crc, word));
#else
    crc = __crc32cd(crc, word);
#endif
  }
  for (; left > 0; ++at, --left) {
#if defined(__x86_64__)
    crc = _mm_crc32_u8(crc, static_cast<uint8_t>(*at));
#else
    crc = __crc32cb(crc, static_cast<uint8_t>(*at));
#endif
  }
  return ~crc;
}

bool HasInstruction() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("sse4.2") != 0;
#elif defined(__ARM_FEATURE_CRC32)
  return std::endian::native == std::endian::little;
#else
  return std::endian::native == std::endian::little && (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
#endif
}

#endif  // SEGANET_CRC32C_TARGET

}  // namespace

// Slicing by 8: M. Kounavis and F. Berry, "A Systematic Approach to Building High Performance,
// Software-based, CRC Generators", 2005.
uint32_t Crc32cByTable(std::string_view bytes, uint32_t crc) {
  const char* at = bytes.data();
  size_t left = bytes.size();
  crc = ~crc;
  for (; left >= 8; at += 8, left -= 8) {
    const uint64_t word = LittleEndian64(at) ^ crc;
    crc = 0;
    for (size_t k = 0; k < 8; ++k) crc ^= kTables[7 - k][word >> (8 * k) & 255];
  }
  for (; left > 0; ++at, --left) {
    crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<uint8_t>(*at)) & 255];
  }
  return ~crc;
}

Crc32cFunction Crc32cByInstruction() {
#ifdef SEGANET_CRC32C_TARGET
  return HasInstruction() ? ByInstruction : nullptr;
#else
  return nullptr;
#endif
}

uint32_t Crc32c(std::string_view bytes, uint32_t crc) {
  static const Crc32cFunction best =
      Crc32cByInstruction() != nullptr ? Crc32cByInstruction() : Crc32cByTable;
  return best(bytes, crc);
}

}  // namespace seganet
