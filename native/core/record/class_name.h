// Class names, as devices write them.
#ifndef SEGANET_CORE_RECORD_CLASS_NAME_H_
#define SEGANET_CORE_RECORD_CLASS_NAME_H_

#include <cstdint>
#include <string_view>

#include "core/record/record.h"

namespace seganet {

// Parses a number from 1 to 8, or critical, high, normal or bulk. Returns 0 for anything else.
inline uint8_t ParseClass(std::string_view text) {
  constexpr std::string_view kNames[] = {"critical", "high", "normal", "bulk"};
  if (text.size() == 1 && ValidClass(text[0] - '0')) return static_cast<uint8_t>(text[0] - '0');
  uint8_t record_class = kCritical;
  for (std::string_view name : kNames) {
    if (text == name) return record_class;
    ++record_class;
  }
  return 0;
}

}  // namespace seganet

#endif  // SEGANET_CORE_RECORD_CLASS_NAME_H_
