// Reads the lines of an NDJSON envelope, as AppendNdjson() (record/encoder.h) writes them.
#ifndef SEGANET_CORE_ENCODING_ENVELOPE_LINE_H_
#define SEGANET_CORE_ENCODING_ENVELOPE_LINE_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace seganet {

// The fields of one line; the views point into it.
struct EnvelopeLine {
  // The contents of JSON strings, with their escapes. key: empty = none. The device is not empty.
  std::string_view key, device, topic;
  int64_t ts_ms = 0;
  uint32_t seq = 0;
  uint8_t record_class = 0;                  // 1..kClasses
  std::string_view traceparent, tracestate;  // printable ASCII without escapes; empty = none
  bool is_json = false;
  // is_json: text that the coder must check, because that is a part of reading it; otherwise base64
  // as AppendBase64() writes it.
  std::string_view payload;
};

// Reads one line without its end. Returns false if it has other fields, another order of them, or
// spaces between them.
bool ReadEnvelopeLine(std::string_view line, EnvelopeLine* out);

// Calls each(line, index) for every line. Returns false if a line cannot be read, has a key
// although it is not the first one, or `each` returns false; and if there is no line.
template <typename Each>
bool ForEachEnvelopeLine(std::string_view lines, Each each) {
  size_t index = 0;
  while (!lines.empty()) {
    const size_t feed = lines.find('\n');
    const std::string_view text = lines.substr(0, feed);
    lines.remove_prefix(feed == std::string_view::npos ? lines.size() : feed + 1);
    EnvelopeLine line;
    if (!ReadEnvelopeLine(text, &line)) return false;
    if (index > 0 && !line.key.empty()) return false;
    if (!each(line, index++)) return false;
  }
  return index > 0;
}

// Appends what the contents of a JSON string stand for, as UTF-8. Returns false, with *out
// unspecified beyond its former size, if that is no UTF-8: half of a surrogate pair.
// REQUIRES: IsJson('"' + raw + '"').
bool AppendUnescaped(std::string_view raw, std::string* out);

// Appends the bytes. REQUIRES: `base64` is the payload of an EnvelopeLine.
void AppendBase64Decoded(std::string_view base64, std::string* out);

}  // namespace seganet

#endif  // SEGANET_CORE_ENCODING_ENVELOPE_LINE_H_
