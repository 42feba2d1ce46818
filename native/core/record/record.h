// A record: one message from one device.
#ifndef SEGANET_CORE_RECORD_RECORD_H_
#define SEGANET_CORE_RECORD_RECORD_H_

#include <cstdint>
#include <string_view>

#include "core/record/receipt.h"

namespace seganet {

// Classes, by priority; 1 is the most urgent (SegaNet).
inline constexpr uint8_t kCritical = 1;
inline constexpr uint8_t kHigh = 2;
inline constexpr uint8_t kNormal = 3;
inline constexpr uint8_t kBulk = 4;
inline constexpr uint8_t kClasses = 8;  // the classes after kBulk have no names

inline constexpr bool ValidClass(int c) { return c >= kCritical && c <= kClasses; }

// Flags, or-ed in Record::flags, and in frames and batches for JavaScript.
inline constexpr uint8_t kFlagQos1 = 1;      // QoS 1 or 2, CoAP confirmable
inline constexpr uint8_t kFlagRetain = 2;    // publish it with RETAIN
inline constexpr uint8_t kFlagEnvelope = 4;  // the payload is a batch of NDJSON lines
// Only in batches and in the log: a trace follows the payload (record/trace_context.h).
inline constexpr uint8_t kFlagTrace = 8;
// Only in batches and in the log: time and number of the record follow the payload
// (record/stored_payload.h).
inline constexpr uint8_t kFlagStamp = 16;

// Limits for records from any source. The device of an envelope is empty.
inline constexpr size_t kMaxDeviceBytes = 256;
inline constexpr size_t kMaxTopicBytes = 65'535;

// The caller owns the bytes of the views, which are valid during the call that passes the record.
struct Record {
  std::string_view device;   // 1..kMaxDeviceBytes bytes of UTF-8
  std::string_view topic;    // 0..kMaxTopicBytes bytes of UTF-8
  std::string_view payload;  // any bytes
  std::string_view trace;    // as MakeTrace() returns it; empty = none
  uint8_t record_class = kNormal;
  uint8_t flags = 0;
  uint32_t seq = 0;        // of this device since the engine started
  uint32_t ticket = 0;     // of the completion that the sender requests, 0 = none
  int64_t ts_ms = 0;       // CLOCK_REALTIME at ingest
  int64_t arrived_us = 0;  // CLOCK_MONOTONIC at ingest
  Receipt receipt;         // the packet to acknowledge when the record is safe
  Receipt deferred;  // the packet that waits for its messages, too (SourceSettings::delivered)
  // To JavaScript: more members of the message, a JSON object; empty = none. Only the stage that
  // writes it sends it.
  std::string_view note;
  // In a frame, 0 = none. To JavaScript: the message in DeferredReceipts. To a worker: the ticket
  // of the completion when the record is safe and its messages are delivered.
  uint32_t deferral = 0;
};

}  // namespace seganet

#endif  // SEGANET_CORE_RECORD_RECORD_H_
