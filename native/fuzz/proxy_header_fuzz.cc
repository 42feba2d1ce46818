// Parses any bytes as a PROXY header. Checks that a result does not change with further bytes.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "core/protocol/proxy_header.h"

namespace {

using seganet::ParseProxyHeader;
using seganet::ProxyHeader;
using Status = ProxyHeader::Status;

void Check(bool good) {
  if (!good) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  const ProxyHeader whole = ParseProxyHeader(bytes);
  Check(whole.status != Status::kNeedMore || size < seganet::kMostProxyHeaderBytes);
  Check(whole.bytes <= size && (whole.bytes > 0) == (whole.status == Status::kWhole));
  Check(whole.address.empty() || whole.status == Status::kWhole);
  for (size_t n = 0; n < size; ++n) {
    const ProxyHeader part = ParseProxyHeader(bytes.first(n));
    if (part.status == Status::kNeedMore) continue;
    Check(part.status == whole.status && part.bytes == whole.bytes &&
          part.address == whole.address);
    return 0;
  }
  return 0;
}
