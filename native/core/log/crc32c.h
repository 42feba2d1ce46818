// CRC-32C (Castagnoli), the checksum of the log: polynomial 0x1EDC6F41, reflected, initial value
// and final XOR all ones (RFC 3720, section 12.1).
#ifndef SEGANET_CORE_LOG_CRC32C_H_
#define SEGANET_CORE_LOG_CRC32C_H_

#include <cstdint>
#include <string_view>

namespace seganet {

// The checksum of `bytes`, or with `crc` that of all bytes whose checksum was `crc` and of `bytes`
// after them. Any thread. Uses the processor's instruction for it (SSE 4.2, ARMv8 CRC) if it has
// one.
uint32_t Crc32c(std::string_view bytes, uint32_t crc = 0);

// The two ways in which it is done; for tests.
using Crc32cFunction = uint32_t (*)(std::string_view bytes, uint32_t crc);
uint32_t Crc32cByTable(std::string_view bytes, uint32_t crc);
// Null: this processor, or the compiler, has no instruction for it.
Crc32cFunction Crc32cByInstruction();

}  // namespace seganet

#endif  // SEGANET_CORE_LOG_CRC32C_H_
