#include "core/encoding/envelope_coder.h"

#include "core/encoding/cbor_sequence.h"
#include "core/encoding/json_array.h"
#include "core/encoding/senml.h"

namespace seganet {

std::unique_ptr<EnvelopeCoder> MakeEnvelopeCoder(Format format) {
  switch (format) {
    case Format::kJson:
      return std::make_unique<JsonArrayCoder>();
    case Format::kCbor:
      return std::make_unique<CborSequenceCoder>();
    case Format::kSenmlJson:
      return MakeSenmlJsonCoder();
    case Format::kSenmlCbor:
      return MakeSenmlCborCoder();
    case Format::kNdjson:
    case Format::kSparkplug:
      break;
  }
  return nullptr;
}

}  // namespace seganet
