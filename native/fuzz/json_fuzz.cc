// Compares IsJson with a recursive recognizer that follows RFC 8259, and checks the NDJSON line of
// any record.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/record/encoder.h"
#include "core/record/json.h"

namespace {

void Check(bool law) {
  if (!law) std::abort();
}

// Each function consumes one production at the front of `rest`, or returns false.
struct Grammar {
  std::string_view rest;
  bool newline = false;

  bool Take(std::string_view token) {
    if (!rest.starts_with(token)) return false;
    rest.remove_prefix(token.size());
    return true;
  }
  bool TakeOneOf(std::string_view set) {
    if (rest.empty() || set.find(rest[0]) == std::string_view::npos) return false;
    rest.remove_prefix(1);
    return true;
  }
  void Space() {
    for (;;) {
      if (TakeOneOf("\n\r")) {
        newline = true;
      } else if (!TakeOneOf(" \t")) {
        return;
      }
    }
  }
  bool Digits() {
    if (!TakeOneOf("0123456789")) return false;
    while (TakeOneOf("0123456789")) {
    }
    return true;
  }
  bool Number() {
    Take("-");
    if (!Take("0") && !Digits()) return false;
    if (Take(".") && !Digits()) return false;
    if (!TakeOneOf("eE")) return true;
    TakeOneOf("+-");
    return Digits();
  }
  // One character that needs no escape; UTF-8 as in the table of RFC 3629, section 4.
  bool Unescaped() {
    const auto in = [this](size_t i, int low, int high) {
      return i < rest.size() && uint8_t(rest[i]) >= low && uint8_t(rest[i]) <= high;
    };
    const auto tail = [&in](size_t from, size_t to) {
      for (size_t i = from; i <= to; ++i) {
        if (!in(i, 0x80, 0xBF)) return false;
      }
      return true;
    };
    size_t length = 0;
    if (in(0, 0x20, 0x7F) && rest[0] != '"' && rest[0] != '\\') length = 1;
    if (in(0, 0xC2, 0xDF) && tail(1, 1)) length = 2;
    if (in(0, 0xE0, 0xE0) && in(1, 0xA0, 0xBF) && tail(2, 2)) length = 3;
    if ((in(0, 0xE1, 0xEC) || in(0, 0xEE, 0xEF)) && tail(1, 2)) length = 3;
    if (in(0, 0xED, 0xED) && in(1, 0x80, 0x9F) && tail(2, 2)) length = 3;
    if (in(0, 0xF0, 0xF0) && in(1, 0x90, 0xBF) && tail(2, 3)) length = 4;
    if (in(0, 0xF1, 0xF3) && tail(1, 3)) length = 4;
    if (in(0, 0xF4, 0xF4) && in(1, 0x80, 0x8F) && tail(2, 3)) length = 4;
    rest.remove_prefix(length);
    return length > 0;
  }
  bool String() {
    if (!Take("\"")) return false;
    while (!Take("\"")) {
      if (Unescaped()) continue;
      if (!Take("\\")) return false;
      if (TakeOneOf("\"\\/bfnrt")) continue;
      if (!Take("u")) return false;
      for (int i = 0; i < 4; ++i) {
        if (!TakeOneOf("0123456789abcdefABCDEF")) return false;
      }
    }
    return true;
  }
  bool Member(int depth) {
    Space();
    if (!String()) return false;
    Space();
    return Take(":") && Value(depth);
  }
  bool List(int depth, char close, bool members) {
    Space();
    const std::string_view end(&close, 1);
    if (Take(end)) return true;
    do {
      if (members ? !Member(depth) : !Value(depth)) return false;
    } while (Take(","));
    return Take(end);
  }
  bool Value(int depth) {
    Space();
    bool valid = false;
    if (Take("[")) {
      valid = depth < seganet::kMaxJsonDepth && List(depth + 1, ']', false);
    } else if (Take("{")) {
      valid = depth < seganet::kMaxJsonDepth && List(depth + 1, '}', true);
    } else {
      valid = Take("null") || Take("true") || Take("false") ||
              (rest.starts_with('"') ? String() : Number());
    }
    Space();
    return valid;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  Grammar grammar{input};
  const bool expected = grammar.Value(0) && grammar.rest.empty();
  bool newline = false;
  const bool valid = seganet::IsJson(input, &newline);
  Check(valid == expected);
  if (valid) Check(newline == grammar.newline);

  seganet::Record record;
  record.device = input.substr(0, 20);
  record.topic = input.substr(input.size() / 2, 20);
  record.payload = input;
  std::string line;
  seganet::AppendNdjson(record, &line);
  Check(std::count(line.begin(), line.end(), '\n') == 1 && line.back() == '\n');
  // The payload is one level deeper in the line.
  bool ignored = false;
  Grammar whole{line};
  Check(seganet::IsJson(line, &ignored) || (valid && !whole.Value(0)));
  return 0;
}
