#include "core/encoding/envelope_line.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/record/json.h"
#include "core/record/json_scanner.h"
#include "core/record/json_values.h"
#include "core/record/record.h"

namespace seganet {
namespace {

constexpr uint8_t kNoDigit = 0xFF;

constexpr std::array<uint8_t, 256> MakeBase64Digits() {
  std::array<uint8_t, 256> digits{};
  digits.fill(kNoDigit);
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < kAlphabet.size(); ++i) {
    digits[static_cast<uint8_t>(kAlphabet[i])] = static_cast<uint8_t>(i);
  }
  return digits;
}
constexpr std::array<uint8_t, 256> kDigits = MakeBase64Digits();

uint8_t DigitOf(char c) { return kDigits[static_cast<uint8_t>(c)]; }

// True for padded base64 whose unused bits are 0, so that decoding and encoding changes nothing.
bool IsCanonicalBase64(std::string_view text) {
  if (text.size() % 4 != 0) return false;
  if (text.empty()) return true;
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  text.remove_suffix(padding);
  if (!std::all_of(text.begin(), text.end(), [](char c) { return DigitOf(c) != kNoDigit; })) {
    return false;
  }
  const uint8_t last = DigitOf(text.back());
  return padding == 0 || (last & (padding == 1 ? 0x03 : 0x0F)) == 0;
}

// Takes the parts of a line from its front.
class Cursor {
 public:
  explicit Cursor(std::string_view line) : rest_(line) {}

  bool Take(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  // Takes a JSON string from behind its first quote to its last one.
  bool TakeString(std::string_view* raw) {
    const char* const end = rest_.data() + rest_.size();
    const char* at = rest_.data();
    bool is_plain = true;
    for (;;) {
      at = json::PlainEnd(at, end);
      if (at == end) return false;
      if (*at == '"') break;
      is_plain = false;
      at += *at == '\\' && end - at > 1 ? 2 : 1;
    }
    const auto size = static_cast<size_t>(at - rest_.data());
    // The quotes are in the line, too.
    bool ignored = false;
    if (!is_plain && !IsJson({rest_.data() - 1, size + 2}, &ignored)) return false;
    *raw = rest_.substr(0, size);
    rest_.remove_prefix(size + 1);
    return true;
  }

  // Takes a string that needs no escapes in any format.
  bool TakePlain(std::string_view* text) {
    return TakeString(text) && !text->empty() &&
           std::all_of(text->begin(), text->end(),
                       [](char c) { return c >= 0x20 && c < 0x7F && c != '\\'; });
  }

  // Takes a whole number in its shortest form.
  template <typename Number>
  bool TakeWhole(Number* number) {
    const char* const end = rest_.data() + rest_.size();
    const auto [after, error] = std::from_chars(rest_.data(), end, *number);
    if (error != std::errc()) return false;
    std::string_view digits = rest_.substr(0, static_cast<size_t>(after - rest_.data()));
    rest_.remove_prefix(digits.size());
    if (digits.front() == '-') {
      digits.remove_prefix(1);
      if (digits == "0") return false;
    }
    return digits == "0" || digits.front() != '0';
  }

  // Takes what precedes `end` at the end of the line.
  bool TakeUntil(std::string_view end, std::string_view* text) {
    if (!rest_.ends_with(end)) return false;
    *text = rest_.substr(0, rest_.size() - end.size());
    return true;
  }

 private:
  std::string_view rest_;
};

// True if each escape of half a surrogate pair has its partner.
bool HasWholePairs(std::string_view raw) {
  uint32_t high = 0;  // a first half that waits for the second one
  for (size_t i = 0; i < raw.size(); ++i) {
    uint32_t code = 0;
    if (raw[i] == '\\') {
      ++i;
      if (raw[i] == 'u') {
        std::from_chars(raw.data() + i + 1, raw.data() + i + 5, code, 16);
        i += 4;
      }
    }
    const bool is_low = code >= 0xDC00 && code <= 0xDFFF;
    if ((high != 0) != is_low) return false;
    high = code >= 0xD800 && code <= 0xDBFF ? code : 0;
  }
  return high == 0;
}

}  // namespace

bool ReadEnvelopeLine(std::string_view line, EnvelopeLine* out) {
  Cursor cursor(line);
  if (!cursor.Take("{\"")) return false;
  if (cursor.Take("k\":\"") && !(cursor.TakeString(&out->key) && cursor.Take(",\""))) return false;
  if (!cursor.Take("d\":\"") || !cursor.TakeString(&out->device) || out->device.empty() ||
      !cursor.Take(",\"t\":\"") || !cursor.TakeString(&out->topic)) {
    return false;
  }
  uint32_t record_class = 0;
  if (!cursor.Take(",\"ts\":") || !cursor.TakeWhole(&out->ts_ms) || !cursor.Take(",\"s\":") ||
      !cursor.TakeWhole(&out->seq) || !cursor.Take(",\"c\":") || !cursor.TakeWhole(&record_class) ||
      record_class < 1 || record_class > kClasses) {
    return false;
  }
  out->record_class = static_cast<uint8_t>(record_class);
  if (cursor.Take(",\"traceparent\":\"") && !cursor.TakePlain(&out->traceparent)) return false;
  if (cursor.Take(",\"tracestate\":\"") && !cursor.TakePlain(&out->tracestate)) return false;
  out->is_json = cursor.Take(",\"p\":");
  if (out->is_json) return cursor.TakeUntil("}", &out->payload);
  return cursor.Take(",\"b\":\"") && cursor.TakeUntil("\"}", &out->payload) &&
         IsCanonicalBase64(out->payload);
}

bool AppendUnescaped(std::string_view raw, std::string* out) {
  const size_t escape = raw.find('\\');
  out->append(raw.substr(0, escape));
  if (escape == std::string_view::npos) return true;
  raw.remove_prefix(escape);
  if (!HasWholePairs(raw)) return false;
  JsonStringReader reader(raw);
  for (int byte = reader.Next(); byte >= 0; byte = reader.Next()) {
    out->push_back(static_cast<char>(byte));
  }
  return true;
}

void AppendBase64Decoded(std::string_view base64, std::string* out) {
  while (base64.ends_with('=')) base64.remove_suffix(1);
  uint32_t bits = 0;
  int count = 0;
  for (const char c : base64) {
    bits = bits << 6 | DigitOf(c);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out->push_back(static_cast<char>(bits >> count));
  }
}

}  // namespace seganet
