// The number that a payload shows first, for a line of values.
#ifndef SEGANET_CORE_RECORD_FIRST_NUMBER_H_
#define SEGANET_CORE_RECORD_FIRST_NUMBER_H_

#include <optional>
#include <string_view>

namespace seganet {

// Returns the payload if it is a JSON number, otherwise the first number in the JSON payload, at
// any depth. Members that tell the time (ts, time, timestamp) are left out. Returns no value if
// there is none, if it is beyond the range of a double, or if the payload is not JSON (IsJson).
// Time: O(bytes).
std::optional<double> FirstNumber(std::string_view payload);

}  // namespace seganet

#endif  // SEGANET_CORE_RECORD_FIRST_NUMBER_H_
