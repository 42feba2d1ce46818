// An envelope as a CBOR sequence (RFC 8742): one map with integer keys per record.
#ifndef SEGANET_CORE_ENCODING_CBOR_SEQUENCE_H_
#define SEGANET_CORE_ENCODING_CBOR_SEQUENCE_H_

#include <string>
#include <string_view>

#include "core/encoding/cbor_json.h"
#include "core/encoding/envelope_coder.h"
#include "core/encoding/envelope_line.h"

namespace seganet {

// The keys. A record without kDevice, kTopic or kClass has that of the record before it; its time
// is kTime, or kLater after that of the record before it.
enum class CborKey : uint8_t {
  kBatch = 0,        // text: the key of the batch, only in the first record
  kDevice = 1,       // text
  kTopic = 2,        // text
  kTime = 3,         // integer: ms since 1970
  kSequence = 4,     // integer
  kClass = 5,        // integer
  kPayload = 6,      // any: the JSON payload as a CBOR value
  kBytes = 7,        // bytes: a payload that is not JSON
  kText = 8,         // text: a JSON payload that CBOR cannot carry exactly (CborFromJson)
  kTraceparent = 9,  // text
  kTracestate = 10,  // text
  kLater = 11,       // integer: ms, may be negative
};

class CborSequenceCoder : public EnvelopeCoder {
 public:
  bool Encode(std::string_view lines, std::string* out) override;
  std::string_view content_type() const override { return "application/cbor-seq"; }

 private:
  bool AppendRecord(const EnvelopeLine& line, bool is_first, std::string* out);

  CborFromJson translate_;
  EnvelopeLine last_;
  std::string scratch_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_ENCODING_CBOR_SEQUENCE_H_
