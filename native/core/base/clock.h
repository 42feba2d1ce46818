// Clocks. Components below runtime/ get the current time from their caller, so tests control it.
#ifndef SEGANET_CORE_BASE_CLOCK_H_
#define SEGANET_CORE_BASE_CLOCK_H_

#include <cstdint>

namespace seganet {

// A time that never comes: no deadline.
inline constexpr int64_t kNever = INT64_MAX;

// One reading of both clocks.
struct Now {
  int64_t mono_us = 0;  // CLOCK_MONOTONIC, µs: for intervals
  int64_t wall_ms = 0;  // CLOCK_REALTIME, ms: for timestamps of records

  // Reads both clocks.
  static Now Read();
};

// Returns CLOCK_MONOTONIC in microseconds.
int64_t MonotonicUs();

// Returns the CPU time of the calling thread in microseconds. A system call.
int64_t ThreadCpuUs();

}  // namespace seganet

#endif  // SEGANET_CORE_BASE_CLOCK_H_
