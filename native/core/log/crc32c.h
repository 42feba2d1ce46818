// CRC-32C (Castagnoli), the checksum of the log: polynomial 0x1EDC6F41, reflected, initial value
// and final XOR all ones (RFC 3720, section 12.1).
#ifndef SEGANET_CORE_LOG_CRC32C_H_
#define SEGANET_CORE_LOG_CRC32C_H_

#include <cstdint>
#include <string_view>

namespace seganet {

// Returns the checksum of `bytes`. With `crc`, the checksum of earlier bytes, continues it: returns
// the checksum of those bytes followed by `bytes`. Uses the processor's instruction (SSE 4.2, ARMv8
// CRC) if there is one. Thread safety: any thread.
uint32_t Crc32c(std::string_view bytes, uint32_t crc = 0);

// The two implementations, for tests.
using Crc32cFunction = uint32_t (*)(std::string_view bytes, uint32_t crc);
uint32_t Crc32cByTable(std::string_view bytes, uint32_t crc);
// Returns null if this processor or the compiler does not have the instruction.
Crc32cFunction Crc32cByInstruction();

}  // namespace seganet

#endif  // SEGANET_CORE_LOG_CRC32C_H_
