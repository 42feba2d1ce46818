// Last values as bytes, for the file that keeps them over a restart.
//
// A row, little endian: its length without these 4 bytes (4), when the value was renewed, ms since
// 1970 (8), ts_ms (8), seq (4), size of the payload as it was sent (4), class (1), 1 if a line
// follows (1), bytes of device, topic and payload (2 each), device, topic, payload, and the line:
// kLinePoints floats (IEEE 754 binary32), which ends in the minute of the renewal.
#ifndef SEGANET_CORE_DEVICES_VALUE_ROWS_H_
#define SEGANET_CORE_DEVICES_VALUE_ROWS_H_

#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "core/devices/last_values.h"

namespace seganet {

// Appends a row. REQUIRES: value.line ends in the minute of value.changed_us.
void AppendValueRow(const ValueRow& value, const Now& now, std::string* out);

// Reads the row at the front of `*rows` and removes it. Returns false for anything else.
bool ReadValueRow(std::string_view* rows, const Now& now, ValueRow* value);

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_VALUE_ROWS_H_
