// What the values of a metric are.
#ifndef SEGANET_CORE_ENCODING_SPARKPLUG_VALUE_TYPE_H_
#define SEGANET_CORE_ENCODING_SPARKPLUG_VALUE_TYPE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "core/encoding/sparkplug/payload.h"

namespace seganet::sparkplug {

enum class ValueType : uint8_t {
  kUnknown,  // only null so far
  kBoolean,
  kInt64,
  kDouble,
  kString,
  kJson,    // JSON text of any value
  kText,    // a payload that is not JSON: UTF-8 without control characters
  kBytes,   // a payload that is not JSON
  kRecord,  // class, 4 bits; sequence number, 32 bits; run, 16 bits
};

// Returns the type of a JSON value by its text. It is kJson also for a string that UTF-8 cannot
// express, and for a number beyond 64-bit floating point. REQUIRES: `text` is one JSON value
// without spaces around it.
ValueType TypeOfJson(std::string_view text);

// Returns the type of a payload that is not JSON.
ValueType TypeOfBytes(std::string_view bytes);

// Returns the type that carries values of both types. Applied to the types of a metric it changes
// at most three times. REQUIRES: both are of JSON, or neither is.
ValueType Wider(ValueType a, ValueType b);

DataType DataTypeOf(ValueType type);

// Returns the value of a JSON text in a metric of this type. `buffer` keeps the bytes of a string.
// REQUIRES: Wider(type, TypeOfJson(text)) == type.
Value JsonValue(ValueType type, std::string_view text, std::string* buffer);

}  // namespace seganet::sparkplug

#endif  // SEGANET_CORE_ENCODING_SPARKPLUG_VALUE_TYPE_H_
