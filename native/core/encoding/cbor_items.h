// Writes CBOR items (RFC 8949) in their shortest form.
#ifndef SEGANET_CORE_ENCODING_CBOR_ITEMS_H_
#define SEGANET_CORE_ENCODING_CBOR_ITEMS_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace seganet::cbor {

// [RFC 8949 3.1] Major types.
enum class Major : uint8_t {
  kUnsigned = 0,
  kNegative = 1,
  kBytes = 2,
  kText = 3,
  kArray = 4,
  kMap = 5,
  kTag = 6,
  kSimple = 7,
};

inline constexpr char kFalse = '\xF4', kTrue = '\xF5', kNull = '\xF6';

// Appends the head of an item: its major type and its argument (1 to 9 bytes).
void AppendHead(Major major, uint64_t argument, std::string* out);

void AppendInt(int64_t value, std::string* out);
// REQUIRES (AppendText): `text` is UTF-8.
void AppendText(std::string_view text, std::string* out);
void AppendBytes(std::string_view bytes, std::string* out);

// Appends what the contents of a JSON string stand for as text. Returns false, with *out unchanged,
// if UTF-8 cannot express it: half of a surrogate pair. REQUIRES: IsJson('"' + raw + '"').
bool AppendJsonText(std::string_view raw, std::string* out);

// Appends the number that the JSON text stands for, exactly: as an integer if it is one of up to 19
// digits, otherwise as a float of 16, 32 or 64 bits or a decimal fraction (tag 4), whichever is
// shortest. A float counts as exact if no other number with as few digits is nearest to it. -0
// keeps its sign. Returns false, with *out unchanged, for more than 19 significant digits or an
// exponent beyond 32 bits. REQUIRES: `number` is a JSON number.
bool AppendJsonNumber(std::string_view number, std::string* out);

}  // namespace seganet::cbor

#endif  // SEGANET_CORE_ENCODING_CBOR_ITEMS_H_
