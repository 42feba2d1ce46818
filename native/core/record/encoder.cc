#include "core/record/encoder.h"

#include <algorithm>
#include <charconv>

#include "core/base/require.h"
#include "core/record/json.h"
#include "core/record/stored_payload.h"
#include "core/record/trace_context.h"

namespace seganet {
namespace {

// Builds the fields between the topic and the payload, so that one call appends them: a call costs
// more than the bytes that it copies.
class Numbers {
 public:
  template <typename Number>
  void Add(std::string_view name, Number number) {
    end_ = std::copy(name.begin(), name.end(), end_);
    end_ = std::to_chars(end_, text_ + sizeof text_, number).ptr;
  }
  std::string_view text() const { return {text_, static_cast<size_t>(end_ - text_)}; }

 private:
  char text_[80];  // three names of at most 6 bytes and three numbers of at most 20
  char* end_ = text_;
};

void AppendLittleEndian(uint32_t value, int bytes, std::string* out) {
  for (int i = 0; i < bytes; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

void AppendPayload(std::string_view payload, std::string* out) {
  bool has_newline = false;
  if (!IsJson(payload, &has_newline)) {
    out->append(",\"b\":\"");
    AppendBase64(payload, out);
    out->push_back('"');
    return;
  }
  out->append(",\"p\":");
  const size_t start = out->size();
  out->append(payload);
  if (!has_newline) return;
  // A JSON string cannot contain a raw line break (IsJson), so each one here is white space.
  for (size_t i = start; i < out->size(); ++i) {
    if ((*out)[i] == '\n' || (*out)[i] == '\r') (*out)[i] = ' ';
  }
}

}  // namespace

void AppendNdjson(const Record& record, std::string* out) {
  out->append("{\"d\":");
  AppendJsonString(record.device, out);
  out->append(",\"t\":");
  AppendJsonString(record.topic, out);
  Numbers numbers;
  numbers.Add(",\"ts\":", record.ts_ms);
  numbers.Add(",\"s\":", record.seq);
  numbers.Add(",\"c\":", uint32_t{record.record_class});
  out->append(numbers.text());
  if (!record.trace.empty()) {
    out->append(",\"traceparent\":\"").append(TraceparentOf(record.trace)).push_back('"');
    const std::string_view state = TracestateOf(record.trace);
    if (!state.empty()) out->append(",\"tracestate\":\"").append(state).push_back('"');
  }
  AppendPayload(record.payload, out);
  out->append("}\n");
}

void AppendEntry(const Record& record, std::string* out, bool is_stamped) {
  SEGANET_REQUIRE(!record.device.empty() && record.device.size() <= kMaxDeviceBytes);
  SEGANET_REQUIRE(record.topic.size() <= kMaxTopicBytes &&
                  record.payload.size() <= UINT32_MAX - 2 * kMaxTraceBytes);
  out->push_back(static_cast<char>(record.flags | StoredFlags(record, is_stamped)));
  out->push_back(static_cast<char>(record.device.size() - 1));
  AppendLittleEndian(static_cast<uint32_t>(record.topic.size()), 2, out);
  AppendLittleEndian(static_cast<uint32_t>(StoredBytes(record, is_stamped)), 4, out);
  out->append(record.device);
  out->append(record.topic);
  AppendStored(record, is_stamped, out);
}

size_t LineEnd(std::string_view bytes, size_t at) {
  SEGANET_REQUIRE(at < bytes.size());
  const size_t feed = bytes.find('\n', at);
  return feed == std::string_view::npos ? bytes.size() : feed + 1;
}

namespace {

constexpr size_t kEntryHead = 8;

struct EntryLengths {
  size_t device, topic, payload;
  size_t all() const { return kEntryHead + device + topic + payload; }
};

// REQUIRES: `head` has kEntryHead bytes.
EntryLengths ReadLengths(std::string_view head) {
  const auto byte = [&](size_t i) { return size_t{static_cast<uint8_t>(head[i])}; };
  return {byte(1) + 1, byte(2) | byte(3) << 8,
          byte(4) | byte(5) << 8 | byte(6) << 16 | byte(7) << 24};
}

}  // namespace

size_t EntryEnd(std::string_view bytes, size_t at) {
  SEGANET_REQUIRE(at < bytes.size());
  if (bytes.size() - at < kEntryHead) return bytes.size();
  return std::min(bytes.size(), at + ReadLengths(bytes.substr(at)).all());
}

bool ReadEntry(std::string_view bytes, Entry* entry) {
  if (bytes.size() < kEntryHead) return false;
  const EntryLengths lengths = ReadLengths(bytes);
  if (lengths.all() != bytes.size()) return false;
  entry->flags = static_cast<uint8_t>(bytes[0]);
  entry->device = bytes.substr(kEntryHead, lengths.device);
  entry->topic = bytes.substr(kEntryHead + lengths.device, lengths.topic);
  entry->payload = bytes.substr(kEntryHead + lengths.device + lengths.topic);
  const StoredTail tail = TakeTail(entry->flags, &entry->payload);
  entry->trace = tail.trace;
  entry->is_stamped = tail.is_stamped;
  entry->ts_ms = tail.ts_ms;
  entry->seq = tail.seq;
  return true;
}

}  // namespace seganet
