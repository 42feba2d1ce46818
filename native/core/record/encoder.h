// Encodings of the records in a batch: NDJSON lines for an envelope, and binary entries for a batch
// of single records. docs/reference/messages.md describes the envelope for receivers.
#ifndef SEGANET_CORE_RECORD_ENCODER_H_
#define SEGANET_CORE_RECORD_ENCODER_H_

#include <string>
#include <string_view>

#include "core/record/record.h"

namespace seganet {

// Appends one NDJSON line: {"d":device,"t":topic,"ts":ms,"s":seq,"c":class,"p":payload} and \n. A
// record with a trace has "traceparent" and possibly "tracestate" before the payload. A
// JSON payload is embedded unchanged, except that line breaks in its white space become spaces. Any
// other payload becomes "b":"<base64>".
void AppendNdjson(const Record& record, std::string* out);

// Appends one entry of a `records` batch: u8 flags, u8 device length - 1, u16 topic length, u32
// payload length (little endian), device, topic, payload. The flags and the stored payload include
// the trace, and with `is_stamped` the record's time and number (stored_payload.h).
// REQUIRES: the lengths of device and topic are within the limits of record.h, and the payload is
// below 4 GiB.
void AppendEntry(const Record& record, std::string* out, bool is_stamped = false);

// Return the end of the NDJSON line, or of the entry of a `records` batch, that begins at `at`; at
// most bytes.size(). REQUIRES: at < bytes.size().
size_t LineEnd(std::string_view bytes, size_t at);
size_t EntryEnd(std::string_view bytes, size_t at);

// An entry of a `records` batch; points into its bytes.
struct Entry {
  uint8_t flags = 0;
  std::string_view device, topic, payload, trace;
  // Of the record, if is_stamped.
  int64_t ts_ms = 0;
  uint32_t seq = 0;
  bool is_stamped = false;
};

// Reads one entry. Returns false if `bytes` are not exactly one.
bool ReadEntry(std::string_view bytes, Entry* entry);

// Returns the maximum size of the record as an MQTT PUBLISH at QoS 1, which counts against a
// batch's byte limit.
inline size_t PublishBytes(const Record& record) {
  // Header 5, topic length 2, packet id 2; the names of the trace's user properties and all
  // lengths.
  const size_t trace = record.trace.empty() ? 0 : 31 + record.trace.size();
  return 9 + record.topic.size() + record.payload.size() + trace;
}

}  // namespace seganet

#endif  // SEGANET_CORE_RECORD_ENCODER_H_
