// A record: one reading of one device.
#ifndef SEGANET_CORE_RECORD_RECORD_H_
#define SEGANET_CORE_RECORD_RECORD_H_

#include <cstdint>
#include <string_view>

#include "core/record/receipt.h"

namespace seganet {

// Priority; 1 is the most urgent, as in the paper.
inline constexpr uint8_t kCritical = 1;
inline constexpr uint8_t kHigh = 2;
inline constexpr uint8_t kNormal = 3;
inline constexpr uint8_t kBulk = 4;
inline constexpr uint8_t kClasses = 8;  // the classes after kBulk have no names

inline constexpr bool ValidClass(int c) { return c >= kCritical && c <= kClasses; }

// Or-ed in Record::flags, and in frames and batches for JavaScript (native/index.d.ts, Flag).
inline constexpr uint8_t kFlagQos1 = 1;
inline constexpr uint8_t kFlagRetain = 2;
inline constexpr uint8_t kFlagEnvelope = 4;

// Limits that hold wherever a record comes from.
inline constexpr size_t kMaxDeviceBytes = 256;
inline constexpr size_t kMaxTopicBytes = 65'535;

// The views belong to whoever made the record and are valid during the call that passes it on.
struct Record {
  std::string_view device;   // 1..kMaxDeviceBytes bytes of UTF-8
  std::string_view topic;    // 0..kMaxTopicBytes bytes of UTF-8
  std::string_view payload;  // any bytes
  uint8_t record_class = kNormal;
  uint8_t flags = 0;
  uint32_t seq = 0;        // of this device since the engine started
  uint32_t ticket = 0;     // asks for a completion, 0 = no
  int64_t ts_ms = 0;       // CLOCK_REALTIME at ingest
  int64_t arrived_us = 0;  // CLOCK_MONOTONIC at ingest
  Receipt receipt;         // who is told when it is safe
};

}  // namespace seganet

#endif  // SEGANET_CORE_RECORD_RECORD_H_
