#include "core/encoding/sparkplug/value_type.h"

#include <charconv>
#include <cmath>

#include "core/base/utf8.h"
#include "core/encoding/envelope_line.h"
#include "core/record/json_values.h"

namespace seganet::sparkplug {
namespace {

// Reads a whole number of 64 bits. -0 is none, because an integer has no negative zero.
bool ReadWhole(std::string_view text, int64_t* value) {
  const char* const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, *value);
  return error == std::errc() && after == end && text != "-0";
}

std::string_view Unquoted(std::string_view text) { return text.substr(1, text.size() - 2); }

bool IsUtf8Expressible(std::string_view raw) {
  if (raw.find('\\') == std::string_view::npos) return true;
  std::string ignored;
  return AppendUnescaped(raw, &ignored);
}

Value TextValue(Value::Kind kind, std::string_view text) {
  Value value;
  value.kind = kind;
  value.text = text;
  return value;
}

}  // namespace

ValueType TypeOfJson(std::string_view text) {
  int64_t whole = 0;
  switch (text.front()) {
    case '"':
      return IsUtf8Expressible(Unquoted(text)) ? ValueType::kString : ValueType::kJson;
    case 't':
    case 'f':
      return ValueType::kBoolean;
    case 'n':
      return ValueType::kUnknown;
    case '{':
    case '[':
      return ValueType::kJson;
    default:
      if (ReadWhole(text, &whole)) return ValueType::kInt64;
      return std::isfinite(JsonNumber(text)) ? ValueType::kDouble : ValueType::kJson;
  }
}

ValueType TypeOfBytes(std::string_view bytes) {
  if (bytes.empty()) return ValueType::kBytes;
  while (!bytes.empty()) {
    const auto c = static_cast<uint8_t>(bytes.front());
    const bool is_space = c == '\t' || c == '\n' || c == '\r';
    if ((c < 0x20 && !is_space) || c == 0x7F) return ValueType::kBytes;
    const size_t size = Utf8Length(bytes);
    if (size == 0) return ValueType::kBytes;
    bytes.remove_prefix(size);
  }
  return ValueType::kText;
}

ValueType Wider(ValueType a, ValueType b) {
  if (a == b || b == ValueType::kUnknown) return a;
  if (a == ValueType::kUnknown) return b;
  const auto is_number = [](ValueType type) {
    return type == ValueType::kInt64 || type == ValueType::kDouble;
  };
  if (is_number(a) && is_number(b)) return ValueType::kDouble;
  const bool is_bytes = a == ValueType::kText || a == ValueType::kBytes;
  return is_bytes ? ValueType::kBytes : ValueType::kJson;
}

DataType DataTypeOf(ValueType type) {
  switch (type) {
    case ValueType::kBoolean:
      return DataType::kBoolean;
    case ValueType::kInt64:
      return DataType::kInt64;
    case ValueType::kDouble:
      return DataType::kDouble;
    case ValueType::kBytes:
      return DataType::kBytes;
    case ValueType::kRecord:
      return DataType::kUInt64;
    case ValueType::kUnknown:
    case ValueType::kString:
    case ValueType::kJson:
    case ValueType::kText:
      break;
  }
  return DataType::kString;
}

Value JsonValue(ValueType type, std::string_view text, std::string* buffer) {
  Value value;
  if (text == "null") return value;
  switch (type) {
    case ValueType::kBoolean:
      value.kind = Value::Kind::kBoolean;
      value.boolean = text.front() == 't';
      return value;
    case ValueType::kInt64: {
      int64_t whole = 0;
      ReadWhole(text, &whole);
      value.kind = Value::Kind::kInteger;
      value.integer = static_cast<uint64_t>(whole);
      return value;
    }
    case ValueType::kDouble:
      value.kind = Value::Kind::kDouble;
      value.number = JsonNumber(text);
      return value;
    case ValueType::kString:
      buffer->clear();
      AppendUnescaped(Unquoted(text), buffer);
      return TextValue(Value::Kind::kString, *buffer);
    default:
      return TextValue(Value::Kind::kString, text);
  }
}

}  // namespace seganet::sparkplug
