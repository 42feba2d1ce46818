// The formats of envelopes on the wire. docs/reference/messages.md describes each for receivers.
#ifndef SEGANET_CORE_ENCODING_FORMAT_H_
#define SEGANET_CORE_ENCODING_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace seganet {

enum class Format : uint8_t {
  kNdjson,     // as in lanes and the log: one line of JSON per record
  kJson,       // a JSON array of the same objects
  kCbor,       // a CBOR sequence (RFC 8742) of maps with integer keys
  kSenmlJson,  // a SenML pack (RFC 8428) in JSON
  kSenmlCbor,  // a SenML pack in CBOR
  kSparkplug,  // metrics of Sparkplug B; needs an edge node (encoding/sparkplug/edge_node.h)
};

inline constexpr size_t kFormats = 6;

}  // namespace seganet

#endif  // SEGANET_CORE_ENCODING_FORMAT_H_
