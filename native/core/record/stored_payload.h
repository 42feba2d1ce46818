// The payload of a record as batches and the log store it: what belongs to the record but has no
// field of its own follows the payload. docs/reference/log-format.md describes this for readers of
// the log.
#ifndef SEGANET_CORE_RECORD_STORED_PAYLOAD_H_
#define SEGANET_CORE_RECORD_STORED_PAYLOAD_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/record/record.h"

namespace seganet {

// A stamp: ts_ms (8 bytes, signed) and seq (4 bytes) of the record, little endian. An envelope gets
// none, because its lines have times, and it may be cut.
inline constexpr size_t kStampBytes = 12;

// Returns the flags that describe what follows the payload of the record.
inline uint8_t StoredFlags(const Record& record, bool is_stamped) {
  const bool has_stamp = is_stamped && (record.flags & kFlagEnvelope) == 0;
  return static_cast<uint8_t>((record.trace.empty() ? 0 : kFlagTrace) |
                              (has_stamp ? kFlagStamp : 0));
}

// Returns the bytes of the payload and of what follows it.
size_t StoredBytes(const Record& record, bool is_stamped);

// Appends the payload, the trace if there is one, and with `is_stamped` the stamp.
void AppendStored(const Record& record, bool is_stamped, std::string* out);

// What followed a payload; points into its bytes.
struct StoredTail {
  std::string_view trace;  // empty = none
  bool is_stamped = false;
  int64_t ts_ms = 0;
  uint32_t seq = 0;
};

// Removes what follows the payload, according to `flags`, from the end of `stored`. Bytes that are
// too short or not valid stay in the payload.
StoredTail TakeTail(uint8_t flags, std::string_view* stored);

}  // namespace seganet

#endif  // SEGANET_CORE_RECORD_STORED_PAYLOAD_H_
