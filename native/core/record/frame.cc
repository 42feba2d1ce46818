#include "core/record/frame.h"

#include <cstring>
#include <utility>

#include "core/base/require.h"

namespace seganet {

void WriteRecordFrame(const Record& record, uint32_t stage, char* to) {
  SEGANET_REQUIRE(reinterpret_cast<uintptr_t>(to) % 8 == 0);
  FrameHeader h{};
  h.total_bytes = static_cast<uint32_t>(FrameBytes(record));
  h.stage = stage;
  h.kind = static_cast<uint8_t>(FrameKind::kRecord);
  h.record_class = record.record_class;
  h.flags = record.flags;
  h.seq = record.seq;
  h.record_count = 1;
  h.device_bytes = static_cast<uint32_t>(record.device.size());
  h.topic_bytes = static_cast<uint32_t>(record.topic.size());
  h.payload_bytes = static_cast<uint32_t>(record.payload.size());
  h.trace_bytes = static_cast<uint32_t>(record.trace.size());
  h.note_bytes = static_cast<uint32_t>(record.note.size());
  h.ts_ms = h.last_ts_ms = static_cast<double>(record.ts_ms);
  h.record_bytes = h.payload_bytes;
  h.ticket = record.ticket;
  h.deferral = record.deferral;
  std::memcpy(to, &h, sizeof h);
  to += sizeof h;
  for (std::string_view part :
       {record.device, record.topic, record.payload, record.trace, record.note}) {
    if (!part.empty()) std::memcpy(to, part.data(), part.size());
    to += part.size();
  }
}

Record ReadRecordFrame(const char* frame) {
  FrameHeader h;
  std::memcpy(&h, frame, sizeof h);
  const char* strings = frame + sizeof h;
  Record record;
  for (auto [part, bytes] :
       {std::pair(&record.device, h.device_bytes), std::pair(&record.topic, h.topic_bytes),
        std::pair(&record.payload, h.payload_bytes), std::pair(&record.trace, h.trace_bytes),
        std::pair(&record.note, h.note_bytes)}) {
    *part = {strings, bytes};
    strings += bytes;
  }
  record.record_class = h.record_class;
  record.flags = h.flags;
  record.seq = h.seq;
  record.ticket = h.ticket;
  record.deferral = h.deferral;
  record.ts_ms = static_cast<int64_t>(h.ts_ms);
  return record;
}

uint32_t FrameStage(const char* frame) {
  FrameHeader h;
  std::memcpy(&h, frame, sizeof h);
  return h.stage;
}

}  // namespace seganet
