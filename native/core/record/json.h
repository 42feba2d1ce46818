// JSON as far as the envelope needs it: is a payload JSON, and text as a JSON string.
#ifndef SEGANET_CORE_RECORD_JSON_H_
#define SEGANET_CORE_RECORD_JSON_H_

#include <string>
#include <string_view>

namespace seganet {

// Deeper nesting than this is not embedded (it is carried as base64).
inline constexpr int kMaxJsonDepth = 64;

// True when `text` is one JSON value (RFC 8259) in valid UTF-8, not nested deeper than
// kMaxJsonDepth.
// `*has_newline` tells whether whitespace in it holds \n or \r, which NDJSON must not.
bool IsJson(std::string_view text, bool* has_newline);

// Appends `text` as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD.
void AppendJsonString(std::string_view text, std::string* out);

// Appends standard base64 (RFC 4648, section 4, padded).
void AppendBase64(std::string_view bytes, std::string* out);

}  // namespace seganet

#endif  // SEGANET_CORE_RECORD_JSON_H_
