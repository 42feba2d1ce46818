#include "core/record/json.h"

#include <cstdint>

#include "core/base/utf8.h"
#include "core/record/json_scanner.h"

namespace seganet {

bool IsJson(std::string_view text, bool* has_newline) {
  json::NoVisitor nobody;
  json::Scanner scanner(text, &nobody);
  const bool valid = scanner.Value();
  *has_newline = scanner.has_newline();
  return valid;
}

void AppendJsonString(std::string_view text, std::string* out) {
  static constexpr char kHex[] = "0123456789abcdef";
  out->push_back('"');
  const char* const end = text.data() + text.size();
  size_t plain = 0;  // start of the run that needs no escapes
  for (size_t i = 0;;) {
    i = static_cast<size_t>(json::PlainEnd(text.data() + i, end) - text.data());
    if (i == text.size()) break;
    const auto c = static_cast<uint8_t>(text[i]);
    const size_t sequence = c < 0x80 ? 1 : Utf8Length(text.substr(i));
    if (c >= 0x80 && sequence > 0) {
      i += sequence;
      continue;
    }
    out->append(text.substr(plain, i - plain));
    if (c == '"' || c == '\\') {
      out->push_back('\\');
      out->push_back(static_cast<char>(c));
    } else if (c < 0x20) {
      out->append("\\u00");
      out->push_back(kHex[c >> 4]);
      out->push_back(kHex[c & 15]);
    } else {
      out->append("\xEF\xBF\xBD");  // U+FFFD
    }
    plain = ++i;
  }
  out->append(text.substr(plain));
  out->push_back('"');
}

void AppendBase64(std::string_view bytes, std::string* out) {
  static constexpr char kAlphabet[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t n = bytes.size() - i < 3 ? bytes.size() - i : 3;
    uint32_t word = 0;
    for (size_t k = 0; k < 3; ++k) {
      word = (word << 8) | (k < n ? static_cast<uint8_t>(bytes[i + k]) : 0);
    }
    out->push_back(kAlphabet[word >> 18]);
    out->push_back(kAlphabet[(word >> 12) & 63]);
    out->push_back(n > 1 ? kAlphabet[(word >> 6) & 63] : '=');
    out->push_back(n > 2 ? kAlphabet[word & 63] : '=');
  }
}

}  // namespace seganet
