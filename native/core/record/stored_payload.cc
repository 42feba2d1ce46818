#include "core/record/stored_payload.h"

#include "core/record/trace_context.h"

namespace seganet {
namespace {

constexpr size_t kTsBytes = 8;

void AppendNumber(uint64_t value, size_t bytes, std::string* out) {
  for (size_t i = 0; i < bytes; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

uint64_t ReadNumber(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i > 0; --i) value = value << 8 | static_cast<uint8_t>(bytes[i - 1]);
  return value;
}

}  // namespace

size_t StoredBytes(const Record& record, bool is_stamped) {
  const bool has_stamp = (StoredFlags(record, is_stamped) & kFlagStamp) != 0;
  return record.payload.size() + StoredTraceBytes(record.trace) + (has_stamp ? kStampBytes : 0);
}

void AppendStored(const Record& record, bool is_stamped, std::string* out) {
  out->append(record.payload);
  AppendStoredTrace(record.trace, out);
  if ((StoredFlags(record, is_stamped) & kFlagStamp) == 0) return;
  AppendNumber(static_cast<uint64_t>(record.ts_ms), kTsBytes, out);
  AppendNumber(record.seq, kStampBytes - kTsBytes, out);
}

StoredTail TakeTail(uint8_t flags, std::string_view* stored) {
  StoredTail tail;
  if ((flags & kFlagStamp) != 0 && stored->size() >= kStampBytes) {
    const std::string_view stamp = stored->substr(stored->size() - kStampBytes);
    tail.is_stamped = true;
    tail.ts_ms = static_cast<int64_t>(ReadNumber(stamp.substr(0, kTsBytes)));
    tail.seq = static_cast<uint32_t>(ReadNumber(stamp.substr(kTsBytes)));
    stored->remove_suffix(kStampBytes);
  }
  if ((flags & kFlagTrace) != 0) tail.trace = TakeStoredTrace(stored);
  return tail;
}

}  // namespace seganet
