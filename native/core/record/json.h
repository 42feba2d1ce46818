// The parts of JSON that an envelope needs: validation of payloads, and strings.
#ifndef SEGANET_CORE_RECORD_JSON_H_
#define SEGANET_CORE_RECORD_JSON_H_

#include <string>
#include <string_view>

namespace seganet {

// Maximum nesting depth. A payload that is nested deeper is not embedded, but encoded as base64.
inline constexpr int kMaxJsonDepth = 64;

// True if `text` is one JSON value (RFC 8259) in valid UTF-8, not nested deeper than kMaxJsonDepth.
// If it is, `*has_newline` is true if its white space contains \n or \r, which NDJSON forbids.
bool IsJson(std::string_view text, bool* has_newline);

// Appends `text` as a JSON string with quotes. Bytes that are not valid UTF-8 become U+FFFD.
void AppendJsonString(std::string_view text, std::string* out);

// Appends standard base64 (RFC 4648, section 4, padded).
void AppendBase64(std::string_view bytes, std::string* out);

}  // namespace seganet

#endif  // SEGANET_CORE_RECORD_JSON_H_
