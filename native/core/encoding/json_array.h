// An envelope as one JSON array: the objects of the NDJSON lines, unchanged.
#ifndef SEGANET_CORE_ENCODING_JSON_ARRAY_H_
#define SEGANET_CORE_ENCODING_JSON_ARRAY_H_

#include <string>
#include <string_view>

#include "core/encoding/envelope_coder.h"

namespace seganet {

class JsonArrayCoder : public EnvelopeCoder {
 public:
  bool Encode(std::string_view lines, std::string* out) override;
  std::string_view content_type() const override { return "application/json"; }
};

}  // namespace seganet

#endif  // SEGANET_CORE_ENCODING_JSON_ARRAY_H_
