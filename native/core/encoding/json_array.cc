#include "core/encoding/json_array.h"

#include <algorithm>

#include "core/encoding/envelope_line.h"
#include "core/record/json.h"

namespace seganet {

bool JsonArrayCoder::Encode(std::string_view lines, std::string* out) {
  const auto is_valid = [](const EnvelopeLine& line, size_t) {
    bool ignored = false;
    return !line.is_json || IsJson(line.payload, &ignored);
  };
  if (!ForEachEnvelopeLine(lines, is_valid)) return false;
  if (lines.ends_with('\n')) lines.remove_suffix(1);
  out->push_back('[');
  const auto start = static_cast<std::ptrdiff_t>(out->size());
  out->append(lines);
  // JSON has no line break inside a string, so each one here separates two records.
  std::replace(out->begin() + start, out->end(), '\n', ',');
  out->push_back(']');
  return true;
}

}  // namespace seganet
