#include "core/record/trace_context.h"

#include <algorithm>

#include "core/base/require.h"

namespace seganet {
namespace {

bool IsHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool IsZero(std::string_view text) { return text.find_first_not_of('0') == std::string_view::npos; }

}  // namespace

bool ValidTraceparent(std::string_view text) {
  if (text.size() != kTraceparentBytes) return false;
  const std::string_view version = text.substr(0, 2);
  const std::string_view trace_id = text.substr(3, 32);
  const std::string_view parent_id = text.substr(36, 16);
  const std::string_view flags = text.substr(53, 2);
  if (text[2] != '-' || text[35] != '-' || text[52] != '-') return false;
  return IsHex(version) && version != "ff" && IsHex(trace_id) && !IsZero(trace_id) &&
         IsHex(parent_id) && !IsZero(parent_id) && IsHex(flags);
}

bool ValidTracestate(std::string_view text) {
  return text.size() <= kMaxTracestateBytes && std::all_of(text.begin(), text.end(), [](char c) {
           return c >= ' ' && c <= '~' && c != '"' && c != '\\';
         });
}

bool ValidTrace(std::string_view trace) {
  return trace.empty() || (ValidTraceparent(trace.substr(0, kTraceparentBytes)) &&
                           ValidTracestate(TracestateOf(trace)));
}

std::string_view MakeTrace(std::string_view traceparent, std::string_view tracestate,
                           std::string* buffer) {
  if (!ValidTraceparent(traceparent)) return {};
  buffer->assign(traceparent);
  if (ValidTracestate(tracestate)) buffer->append(tracestate);
  return *buffer;
}

void AppendStoredTrace(std::string_view trace, std::string* out) {
  SEGANET_REQUIRE(trace.size() <= kMaxTraceBytes);
  if (trace.empty()) return;
  out->append(trace);
  out->push_back(static_cast<char>(trace.size() & 0xFF));
  out->push_back(static_cast<char>(trace.size() >> 8));
}

std::string_view TakeStoredTrace(std::string_view* stored) {
  const size_t size = stored->size();
  if (size < kTraceLengthBytes) return {};
  const auto byte = [&](size_t i) { return size_t{static_cast<uint8_t>((*stored)[i])}; };
  const size_t length = byte(size - 2) | byte(size - 1) << 8;
  if (length == 0 || length > size - kTraceLengthBytes) return {};
  const std::string_view trace = stored->substr(size - kTraceLengthBytes - length, length);
  if (!ValidTrace(trace)) return {};
  stored->remove_suffix(kTraceLengthBytes + length);
  return trace;
}

}  // namespace seganet
