// Reads one JSON value (RFC 8259) and reports its parts to a visitor. For code of
// this folder and of core/encoding.
#ifndef SEGANET_CORE_RECORD_JSON_SCANNER_H_
#define SEGANET_CORE_RECORD_JSON_SCANNER_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/base/utf8.h"
#include "core/record/json.h"

namespace seganet::json {

// Vector of 16 bytes (GCC and Clang extension), for machines with such registers.
using Bytes16 = int8_t __attribute__((vector_size(16)));

inline bool IsPlain(uint8_t c) { return c >= 0x20 && c < 0x80 && c != '"' && c != '\\'; }

// Returns the end of the run of characters, starting at `at`, that have no special meaning inside a
// JSON string. Most of a payload consists of such runs.
inline const char* PlainEnd(const char* at, const char* end) {
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

// Ignores all parts. The members of a visitor, in the order of the text:
struct NoVisitor {
  // The next value is an object or array, whose first byte is at `start`.
  void Enter(bool /*object*/, const char* /*start*/) {}
  // The innermost object or array ends before `end`.
  void Leave(const char* /*end*/) {}
  // The next value belongs to this member. `raw` is the text between the quotes, with its escapes.
  void Key(std::string_view /*raw*/) {}
  // The next value is another element of the array.
  void Element() {}
  // The next value is a string, number, true, false or null. `raw` is its text, with the quotes.
  void Scalar(std::string_view /*raw*/) {}
};

// Reads one JSON value in valid UTF-8, not nested deeper than kMaxJsonDepth, without recursion. One
// bit per level records whether the level is an object. The visitor gets the parts before it is
// known whether the whole text is valid.
template <typename Visitor>
class Scanner {
 public:
  // REQUIRES: the bytes of `text` and `visitor` outlive the scanner.
  Scanner(std::string_view text, Visitor* visitor)
      : at_(text.data()), end_(text.data() + text.size()), visitor_(visitor) {}

  // True if the text is one JSON value.
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
      const char* const start = at_;
      if (!Scalar()) return false;
      visitor_->Scalar({start, static_cast<size_t>(at_ - start)});
      if (!CloseAll()) return false;
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
    const bool object = *at_ == '{';
    if (depth_ == kMaxJsonDepth) return false;
    visitor_->Enter(object, at_++);
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
        visitor_->Leave(at_);
        continue;
      }
      if (*at_ != ',') return false;
      ++at_;
      SkipSpace();
      if (object) return Key();
      visitor_->Element();
      return true;
    }
  }

  bool Key() {
    const char* const start = at_;
    if (at_ == end_ || *at_ != '"' || !String()) return false;
    visitor_->Key({start + 1, static_cast<size_t>(at_ - start) - 2});
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
  const char* const end_;
  Visitor* const visitor_;
  uint64_t objects_ = 0;
  int depth_ = 0;
  bool opened_empty_ = false;
  bool has_newline_ = false;
};

static_assert(kMaxJsonDepth <= 64, "Scanner keeps one bit per level");

}  // namespace seganet::json

#endif  // SEGANET_CORE_RECORD_JSON_SCANNER_H_
