#include "core/record/json.h"

#include <bit>
#include <cstdint>
#include <cstring>

#include "core/base/utf8.h"

namespace seganet {
namespace {

// Vector of 16 bytes (GCC and Clang extension), for machines with such registers.
using Bytes16 = int8_t __attribute__((vector_size(16)));

bool IsPlain(uint8_t c) { return c >= 0x20 && c < 0x80 && c != '"' && c != '\\'; }

// Returns the end of the run of characters, starting at `at`, that have no special meaning inside a
// JSON string. Most of a payload consists of such runs.
const char* PlainEnd(const char* at, const char* end) {
  for (; end - at >= 16; at += 16) {
    Bytes16 bytes;
    std::memcpy(&bytes, at, sizeof bytes);
    // Bytes from 0x80 on are negative as signed numbers, and therefore special too.
    const auto special = (bytes < 0x20) | (bytes == '"') | (bytes == '\\');
    uint64_t halves[2];
    std::memcpy(halves, &special, sizeof halves);
    if ((halves[0] | halves[1]) == 0) continue;
    if constexpr (std::endian::native == std::endian::little) {
      const int byte =
          halves[0] != 0 ? std::countr_zero(halves[0]) / 8 : 8 + std::countr_zero(halves[1]) / 8;
      return at + byte;
    }
    break;
  }
  while (at != end && IsPlain(static_cast<uint8_t>(*at))) ++at;
  return at;
}

// Reads one JSON value without recursion. One bit per level records whether the level is an object.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  bool Value() {
    SkipSpace();
    for (;;) {
      if (at_ == end_) return false;
      if (*at_ == '{' || *at_ == '[') {
        if (!Open()) return false;
        if (opened_empty_) {
          if (!CloseAll()) return false;
          if (depth_ == 0) break;
        }
        continue;
      }
      if (!Scalar() || !CloseAll()) return false;
      if (depth_ == 0) break;
    }
    SkipSpace();
    return at_ == end_;
  }

  bool has_newline() const { return has_newline_; }

 private:
  bool InObject() const { return (objects_ >> (depth_ - 1)) & 1; }

  // Enters an object or array, and stops at its first value, or at its end if it is empty.
  bool Open() {
    const bool object = *at_++ == '{';
    if (depth_ == kMaxJsonDepth) return false;
    objects_ = (objects_ & ~(uint64_t{1} << depth_)) | (uint64_t{object} << depth_);
    ++depth_;
    SkipSpace();
    opened_empty_ = at_ != end_ && *at_ == (object ? '}' : ']');
    if (opened_empty_) return true;
    return !object || Key();
  }

  // After a value: closes the objects and arrays that end here, and skips a comma to the next
  // value.
  bool CloseAll() {
    for (;;) {
      SkipSpace();
      if (depth_ == 0) return true;
      if (at_ == end_) return false;
      const bool object = InObject();
      if (*at_ == (object ? '}' : ']')) {
        ++at_;
        --depth_;
        continue;
      }
      if (*at_ != ',') return false;
      ++at_;
      SkipSpace();
      return !object || Key();
    }
  }

  bool Key() {
    if (at_ == end_ || *at_ != '"' || !String()) return false;
    SkipSpace();
    if (at_ == end_ || *at_ != ':') return false;
    ++at_;
    SkipSpace();
    return true;
  }

  bool Scalar() {
    switch (*at_) {
      case '"':
        return String();
      case 't':
        return Word("true");
      case 'f':
        return Word("false");
      case 'n':
        return Word("null");
      default:
        return Number();
    }
  }

  bool Word(std::string_view word) {
    if (static_cast<size_t>(end_ - at_) < word.size()) return false;
    if (std::string_view(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  bool Digits() {
    const char* start = at_;
    while (at_ != end_ && *at_ >= '0' && *at_ <= '9') ++at_;
    return at_ != start;
  }

  bool Number() {
    if (*at_ == '-') ++at_;
    if (at_ == end_) return false;
    if (*at_ == '0') {
      ++at_;
    } else if (!Digits()) {
      return false;
    }
    if (at_ != end_ && *at_ == '.') {
      ++at_;
      if (!Digits()) return false;
    }
    if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
      ++at_;
      if (at_ != end_ && (*at_ == '+' || *at_ == '-')) ++at_;
      if (!Digits()) return false;
    }
    return true;
  }

  bool Escape() {
    if (at_ == end_) return false;
    const char c = *at_++;
    if (c != 'u') {
      return std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos;
    }
    for (int i = 0; i < 4; ++i, ++at_) {
      if (at_ == end_) return false;
      const char h = *at_;
      if (!((h >= '0' && h <= '9') || ((h | 0x20) >= 'a' && (h | 0x20) <= 'f'))) return false;
    }
    return true;
  }

  bool String() {
    ++at_;
    for (;;) {
      at_ = PlainEnd(at_, end_);
      if (at_ == end_) return false;
      const auto c = static_cast<uint8_t>(*at_);
      if (c == '"') {
        ++at_;
        return true;
      }
      if (c < 0x20) return false;
      if (c == '\\') {
        ++at_;
        if (!Escape()) return false;
      } else {
        const size_t n = Utf8Length(std::string_view(at_, static_cast<size_t>(end_ - at_)));
        if (n == 0) return false;
        at_ += n;
      }
    }
  }

  void SkipSpace() {
    for (; at_ != end_; ++at_) {
      if (*at_ == '\n' || *at_ == '\r') {
        has_newline_ = true;
      } else if (*at_ != ' ' && *at_ != '\t') {
        return;
      }
    }
  }

  const char* at_;
  const char* end_;
  uint64_t objects_ = 0;
  int depth_ = 0;
  bool opened_empty_ = false;
  bool has_newline_ = false;
};

static_assert(kMaxJsonDepth <= 64, "Scanner keeps one bit per level");

}  // namespace

bool IsJson(std::string_view text, bool* has_newline) {
  Scanner scanner(text);
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
    i = static_cast<size_t>(PlainEnd(text.data() + i, end) - text.data());
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
