// Runs ReadSessionRow on any bytes. Checks that it does not read past the end, and that a row that
// it accepts is written again with the same bytes. The checksum of half of the inputs is corrected
// first, because random input never passes it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "core/log/crc32c.h"
#include "core/runtime/session_row.h"

namespace {

void Check(bool law) {
  if (!law) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string row(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 0) {
    const uint32_t crc = seganet::Crc32c(row);
    for (int i = 0; i < 4; ++i) row.push_back(static_cast<char>(crc >> (8 * i)));
  }
  // A buffer of the exact size, so that the sanitizer detects a read past the end.
  const std::vector<char> bytes(row.begin(), row.end());
  const std::string_view view(bytes.data(), bytes.size());
  seganet::SessionRow read;
  if (!ReadSessionRow(view, true, &read)) return 0;
  Check(read.session != nullptr && read.session->expiry_s != 0);
  Check(seganet::WriteSessionRow(read.device, read.source, read.end_ms, *read.session, true) ==
        row);
  Check(ReadSessionRow(view, false, &read) && read.session->incoming.empty());
  return 0;
}
