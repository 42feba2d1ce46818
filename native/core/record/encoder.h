// Encodings of records on their way to the cloud and to JavaScript. Formats: docs/messages.md,
// native/index.d.ts.
#ifndef SEGANET_CORE_RECORD_ENCODER_H_
#define SEGANET_CORE_RECORD_ENCODER_H_

#include <string>
#include <string_view>

#include "core/record/record.h"

namespace seganet {

// Appends one NDJSON line: {"d":device,"t":topic,"ts":ms,"s":seq,"c":class,"p":payload} and \n. A
// payload that is JSON is embedded as it stands, line breaks in its white space turned into spaces;
// any other is "b":"<base64>".
void AppendNdjson(const Record& record, std::string* out);

// Appends one entry of a `records` batch: u8 flags, u8 device length - 1, u16 topic length, u32
// payload length (little endian), device, topic, payload. REQUIRES: the record keeps the limits of
// record.h.
void AppendEntry(const Record& record, std::string* out);

// Where the NDJSON line, or the entry of a `records` batch, that begins at `at` ends. At most
// bytes.size(). REQUIRES: at < bytes.size().
size_t LineEnd(std::string_view bytes, size_t at);
size_t EntryEnd(std::string_view bytes, size_t at);

// Bytes that the record takes as an MQTT PUBLISH at QoS 1, at most: what counts against a batch's
// byte limit.
inline size_t PublishBytes(const Record& record) {
  return 9 + record.topic.size() + record.payload.size();  // header 5, topic length 2, packet id 2
}

}  // namespace seganet

#endif  // SEGANET_CORE_RECORD_ENCODER_H_
