// Encodes any lines in every format. Checks that a coder refuses them without a trace, or writes
// the same bytes twice, and that it takes every line that the engine writes. Input: one byte
// selects the format and whether the rest is lines, or device, topic and payload of a record.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "core/encoding/envelope_coder.h"
#include "core/record/encoder.h"
#include "core/record/json.h"

namespace {

using seganet::EnvelopeCoder, seganet::Format;

void Check(bool good) {
  if (!good) std::abort();
}

// Returns false if the coder refuses the lines.
bool Encode(EnvelopeCoder* coder, const std::string& lines, std::string* out) {
  *out = "before";
  const bool is_done = coder->Encode(lines, out);
  Check(out->starts_with("before"));
  Check(is_done == (out->size() > 6));
  return is_done;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  // The first and the last format have no coder.
  const auto format = static_cast<Format>(1 + data[0] % (seganet::kFormats - 2));
  const bool is_record = data[0] & 0x80;
  const size_t cut = data[1];
  const std::string_view input(reinterpret_cast<const char*>(data) + 2, size - 2);
  std::string lines(input);
  if (is_record) {
    const size_t names = cut < input.size() ? cut : input.size();
    const std::string device = "d" + std::string(input.substr(0, names / 2));
    seganet::Record record;
    record.device = device;
    record.topic = input.substr(names / 2, names - names / 2);
    record.payload = input.substr(names);
    record.ts_ms = static_cast<int64_t>(cut) << (cut % 48);
    lines.clear();
    seganet::AppendNdjson(record, &lines);
    seganet::AppendNdjson(record, &lines);
  }
  const std::unique_ptr<EnvelopeCoder> coder = seganet::MakeEnvelopeCoder(format);
  std::string once, again;
  const bool is_done = Encode(coder.get(), lines, &once);
  Check(Encode(coder.get(), lines, &again) == is_done && once == again);
  Check(is_done || !is_record);
  if (is_done && (format == Format::kJson || format == Format::kSenmlJson)) {
    // The array and the record are two more levels.
    const auto opened =
        std::count(lines.begin(), lines.end(), '[') + std::count(lines.begin(), lines.end(), '{');
    bool ignored = false;
    Check(opened > seganet::kMaxJsonDepth - 2 ||
          seganet::IsJson(std::string_view(once).substr(6), &ignored));
  }
  return 0;
}
