// Encodes an envelope in another format than NDJSON.
#ifndef SEGANET_CORE_ENCODING_ENVELOPE_CODER_H_
#define SEGANET_CORE_ENCODING_ENVELOPE_CODER_H_

#include <memory>
#include <string>
#include <string_view>

#include "core/encoding/format.h"

namespace seganet {

// The same lines always give the same bytes, because a packet that is sent again must not differ.
//
// Thread safety: none; a coder keeps buffers between calls.
class EnvelopeCoder {
 public:
  virtual ~EnvelopeCoder() = default;

  // Appends the envelope. `lines`: NDJSON as AppendNdjson() writes it (record/encoder.h), with the
  // batch key as the first field of the first line, if there is one. Returns false, with *out
  // unchanged, if they are anything else, such as an envelope that a flow made with fields of its
  // own: the caller then sends the lines as they are.
  virtual bool Encode(std::string_view lines, std::string* out) = 0;

  // Returns the media type, for the Content Type of MQTT 5.
  virtual std::string_view content_type() const = 0;
};

// Returns null for kNdjson, and for kSparkplug, whose messages depend on the session.
std::unique_ptr<EnvelopeCoder> MakeEnvelopeCoder(Format format);

}  // namespace seganet

#endif  // SEGANET_CORE_ENCODING_ENVELOPE_CODER_H_
