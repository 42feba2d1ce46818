#include "core/encoding/cbor_items.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "core/encoding/envelope_line.h"
#include "core/record/json_values.h"

namespace seganet::cbor {
namespace {

constexpr char kHalf = '\xF9', kSingle = '\xFA', kDouble = '\xFB';
constexpr uint64_t kDecimalFraction = 4;
constexpr int kMaxDigits = 19;  // fit into 64 bits
// Two different decimal numbers of so many digits are different doubles (DBL_DIG).
constexpr int kUniqueDigits = 15;
constexpr size_t kHalfBytes = 3, kSingleBytes = 5, kDoubleBytes = 9;

// A decimal number: sign, digits without zeros at the ends, and the power of ten of the last digit.
struct Decimal {
  bool is_negative = false;
  uint64_t digits = 0;
  int count = 0;  // of digits; 0 = the number is 0
  int64_t exponent = 0;

  bool SameSize(const Decimal& other) const {
    return digits == other.digits && exponent == other.exponent;
  }
};

// Returns false if the number has too many digits.
bool ReadDecimal(std::string_view text, Decimal* number) {
  const char* at = text.data();
  const char* const end = at + text.size();
  if (*at == '-') {
    number->is_negative = true;
    ++at;
  }
  int64_t zeros = 0;  // at the end of what was read, not yet known to be inside
  bool is_fraction = false;
  for (; at != end && *at != 'e' && *at != 'E'; ++at) {
    if (*at == '.') {
      is_fraction = true;
      continue;
    }
    if (is_fraction) --number->exponent;
    if (*at == '0') {
      if (number->count > 0) ++zeros;
      continue;
    }
    if (number->count + zeros + 1 > kMaxDigits) return false;
    number->count += static_cast<int>(zeros) + 1;
    for (; zeros > 0; --zeros) number->digits *= 10;
    number->digits = number->digits * 10 + static_cast<uint64_t>(*at - '0');
  }
  number->exponent += zeros;
  if (number->count == 0) {
    number->exponent = 0;
    return true;
  }
  if (at == end) return true;
  if (*++at == '+') ++at;
  int32_t power = 0;
  if (std::from_chars(at, end, power).ec != std::errc()) return false;
  number->exponent += power;
  return true;
}

size_t HeadBytes(uint64_t argument) {
  if (argument < 24) return 1;
  if (argument <= UINT8_MAX) return 2;
  if (argument <= UINT16_MAX) return 3;
  return argument <= UINT32_MAX ? 5 : 9;
}

// Sets the number as an integer without its sign. Returns false if it is none of 64 bits.
bool WholeOf(const Decimal& number, uint64_t* whole) {
  if (number.exponent < 0 || number.exponent + number.count > kMaxDigits) return false;
  *whole = number.digits;
  for (int64_t i = 0; i < number.exponent; ++i) *whole *= 10;
  return true;
}

// Returns the argument of an exponent: n, or -1 - n for a negative one.
uint64_t ArgumentOf(int64_t value) { return static_cast<uint64_t>(value < 0 ? -1 - value : value); }

// Sets the bits of a 16-bit float that has this value. Returns false if there is none; the smallest
// numbers (subnormals) are left to other forms.
bool HalfOf(double value, uint16_t* bits) {
  const uint64_t wide = std::bit_cast<uint64_t>(value);
  const auto exponent = static_cast<int>(wide >> 52 & 0x7FF) - 1023;
  if (exponent < -14 || exponent > 15 || (wide & ((uint64_t{1} << 42) - 1)) != 0) return false;
  *bits = static_cast<uint16_t>((wide >> 63 << 15) | static_cast<uint64_t>(exponent + 15) << 10 |
                                (wide >> 42 & 0x3FF));
  return true;
}

// True if a parser of JSON that uses doubles keeps the number.
bool IsDouble(const Decimal& number, double value) {
  if (!std::isfinite(value) || std::fpclassify(value) != FP_NORMAL) return false;
  if (number.count <= kUniqueDigits) return true;
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, std::abs(value)).ptr;
  Decimal shortest;
  return ReadDecimal({text, static_cast<size_t>(end - text)}, &shortest) &&
         shortest.SameSize(number);
}

void AppendBigEndian(uint64_t value, int bytes, std::string* out) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    out->push_back(static_cast<char>(value >> shift));
  }
}

// Appends a float of less than `limit` bytes. Returns false if none is exact.
bool AppendFloat(const Decimal& number, std::string_view text, size_t limit, std::string* out) {
  if (limit <= kHalfBytes) return false;
  const double value = JsonNumber(text);
  uint16_t half = 0;
  if (HalfOf(value, &half) && IsDouble(number, value)) {
    out->push_back(kHalf);
    AppendBigEndian(half, 2, out);
    return true;
  }
  const auto single = static_cast<float>(value);
  if (limit > kSingleBytes && std::isfinite(single) && static_cast<double>(single) == value &&
      IsDouble(number, value)) {
    out->push_back(kSingle);
    AppendBigEndian(std::bit_cast<uint32_t>(single), 4, out);
    return true;
  }
  if (limit <= kDoubleBytes || !IsDouble(number, value)) return false;
  out->push_back(kDouble);
  AppendBigEndian(std::bit_cast<uint64_t>(value), 8, out);
  return true;
}

}  // namespace

void AppendHead(Major major, uint64_t argument, std::string* out) {
  const auto high = static_cast<uint8_t>(static_cast<uint8_t>(major) << 5);
  const size_t bytes = HeadBytes(argument) - 1;
  if (bytes == 0) {
    out->push_back(static_cast<char>(high | argument));
    return;
  }
  // 24 to 27: the argument follows in 1, 2, 4 or 8 bytes.
  out->push_back(static_cast<char>(high | (24 + std::countr_zero(bytes))));
  AppendBigEndian(argument, static_cast<int>(bytes), out);
}

void AppendInt(int64_t value, std::string* out) {
  AppendHead(value < 0 ? Major::kNegative : Major::kUnsigned, ArgumentOf(value), out);
}

void AppendText(std::string_view text, std::string* out) {
  AppendHead(Major::kText, text.size(), out);
  out->append(text);
}

void AppendBytes(std::string_view bytes, std::string* out) {
  AppendHead(Major::kBytes, bytes.size(), out);
  out->append(bytes);
}

bool AppendJsonText(std::string_view raw, std::string* out) {
  if (raw.find('\\') == std::string_view::npos) {
    AppendText(raw, out);
    return true;
  }
  std::string text;
  if (!AppendUnescaped(raw, &text)) return false;
  AppendText(text, out);
  return true;
}

bool AppendJsonNumber(std::string_view number, std::string* out) {
  Decimal decimal;
  if (!ReadDecimal(number, &decimal)) return false;
  if (decimal.count == 0) {
    if (decimal.is_negative) {
      out->append("\xF9\x80\0", 3);
    } else {
      AppendInt(0, out);
    }
    return true;
  }
  const Major sign = decimal.is_negative ? Major::kNegative : Major::kUnsigned;
  const uint64_t less = decimal.is_negative ? 1 : 0;  // -n is the argument n - 1
  uint64_t whole = 0;
  if (WholeOf(decimal, &whole)) {
    AppendHead(sign, whole - less, out);
    return true;
  }
  // A decimal fraction: tag, array of two, exponent, digits.
  const size_t bytes =
      2 + HeadBytes(ArgumentOf(decimal.exponent)) + HeadBytes(decimal.digits - less);
  if (AppendFloat(decimal, number, bytes, out)) return true;
  AppendHead(Major::kTag, kDecimalFraction, out);
  AppendHead(Major::kArray, 2, out);
  AppendInt(decimal.exponent, out);
  AppendHead(sign, decimal.digits - less, out);
  return true;
}

}  // namespace seganet::cbor
