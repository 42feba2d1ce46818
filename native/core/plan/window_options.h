// Options of a filter stage that aggregates the records of a time window.
#ifndef SEGANET_CORE_PLAN_WINDOW_OPTIONS_H_
#define SEGANET_CORE_PLAN_WINDOW_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace seganet {

// What a window reports of each value: bits of WindowOptions::aggregates, in the order of the
// payload.
namespace aggregate {
inline constexpr uint8_t kFirst = 1;
inline constexpr uint8_t kLast = 2;
inline constexpr uint8_t kMin = 4;
inline constexpr uint8_t kMax = 8;
inline constexpr uint8_t kMean = 16;
inline constexpr uint8_t kSum = 32;
inline constexpr uint8_t kCount = 64;
inline constexpr uint8_t kAll = 127;
}  // namespace aggregate

struct WindowOptions {
  // Paths of the values, 1..kMaxWindowValues, no text twice. Each text is also the name of its
  // value in the payload.
  std::vector<std::string> values = {};
  uint8_t aggregates = aggregate::kAll;  // at least one
  uint32_t length_s = 60;                // 1..kMaxWindowS
  // A window also ends when it has this many records, 0 = only by time, ..kMaxWindowRecords.
  uint32_t records = 0;
  // True: windows begin and end at multiples of their length since 1970 (UTC). False: the window of
  // a device begins with a record.
  bool aligned = false;
  // Class of the window's record, 0 = the most urgent class of its records, 0..kClasses.
  uint8_t record_class = 0;
  // True: the records of a window are acknowledged when the window's record is safe, so a crash
  // loses none of them. False: they are acknowledged at once.
  bool hold = false;

  bool operator==(const WindowOptions&) const = default;
};

inline constexpr size_t kMaxWindowValues = 16;
inline constexpr uint32_t kMaxWindowS = 86'400;
inline constexpr uint32_t kMaxWindowRecords = 1'000'000;

// Open windows of a stage on a worker. One more ends the oldest one early.
inline constexpr size_t kMaxOpenWindows = 16'384;

// WindowOptions::hold: records of one window that wait for their acknowledgement, half of a
// device's default Receive Maximum. The window ends early when it has that many.
inline constexpr size_t kMaxHeldRecords = 512;

Status Validate(const WindowOptions& options);

}  // namespace seganet

#endif  // SEGANET_CORE_PLAN_WINDOW_OPTIONS_H_
