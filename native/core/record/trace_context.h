// Trace context of a record (W3C Trace Context): which trace the record belongs to. The gateway
// keeps what the sender set, and makes no spans of its own.
#ifndef SEGANET_CORE_RECORD_TRACE_CONTEXT_H_
#define SEGANET_CORE_RECORD_TRACE_CONTEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace seganet {

// Lengths in bytes: of a traceparent (3.2), and the maximum of a tracestate (3.3.1.5).
inline constexpr size_t kTraceparentBytes = 55;
inline constexpr size_t kMaxTracestateBytes = 512;
inline constexpr size_t kMaxTraceBytes = kTraceparentBytes + kMaxTracestateBytes;

// True for `<version>-<trace id>-<parent id>-<flags>` in lower-case hexadecimal digits, with ids
// that are not 0 and a version that is not ff.
bool ValidTraceparent(std::string_view text);

// True for printable ASCII of at most kMaxTracestateBytes that needs no escape in a JSON string.
// The empty string is valid.
bool ValidTracestate(std::string_view text);

// True for the encoding of Record::trace: a valid traceparent that is followed by a valid
// tracestate, or nothing at all.
bool ValidTrace(std::string_view trace);

// Returns the encoding in `buffer`; empty if the traceparent is not valid. A tracestate that is not
// valid is left out (3.3.1.5).
std::string_view MakeTrace(std::string_view traceparent, std::string_view tracestate,
                           std::string* buffer);

// REQUIRES for both: ValidTrace(trace) and !trace.empty().
inline std::string_view TraceparentOf(std::string_view trace) {
  return trace.substr(0, kTraceparentBytes);
}
inline std::string_view TracestateOf(std::string_view trace) {
  return trace.substr(kTraceparentBytes);
}

// A stored payload with kFlagTrace is followed by the trace and its length in two bytes, little
// endian. docs/reference/log-format.md describes this for readers of the log.
inline constexpr size_t kTraceLengthBytes = 2;
inline size_t StoredTraceBytes(std::string_view trace) {
  return trace.empty() ? 0 : trace.size() + kTraceLengthBytes;
}
// Appends what follows the payload; nothing for an empty trace.
void AppendStoredTrace(std::string_view trace, std::string* out);
// Removes the trace from the end of `stored` and returns it. Returns an empty string and leaves
// `stored` unchanged if there is no valid one.
std::string_view TakeStoredTrace(std::string_view* stored);

}  // namespace seganet

#endif  // SEGANET_CORE_RECORD_TRACE_CONTEXT_H_
