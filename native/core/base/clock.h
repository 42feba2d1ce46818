// Time. Components below runtime/ are given "now" by their caller, so tests choose it.
#ifndef SEGANET_CORE_BASE_CLOCK_H_
#define SEGANET_CORE_BASE_CLOCK_H_

#include <cstdint>

namespace seganet {

// A time that does not come.
inline constexpr int64_t kNever = INT64_MAX;

struct Now {
  int64_t mono_us = 0;  // CLOCK_MONOTONIC: for intervals
  int64_t wall_ms = 0;  // CLOCK_REALTIME: for records' timestamps

  static Now Read();
};

int64_t MonotonicUs();

}  // namespace seganet

#endif  // SEGANET_CORE_BASE_CLOCK_H_
