#include "core/record/frame.h"

#include <cstring>

#include "core/base/require.h"

namespace seganet {

void WriteRecordFrame(const Record& record, uint32_t stage, char* to) {
  SEGANET_REQUIRE(reinterpret_cast<uintptr_t>(to) % 8 == 0);
  FrameHeader h{};
  h.total_bytes = static_cast<uint32_t>(
      FrameBytes(record.device.size(), record.topic.size(), record.payload.size()));
  h.stage = stage;
  h.kind = static_cast<uint8_t>(FrameKind::kRecord);
  h.record_class = record.record_class;
  h.flags = record.flags;
  h.seq = record.seq;
  h.record_count = 1;
  h.device_bytes = static_cast<uint32_t>(record.device.size());
  h.topic_bytes = static_cast<uint32_t>(record.topic.size());
  h.payload_bytes = static_cast<uint32_t>(record.payload.size());
  h.ts_ms = h.last_ts_ms = static_cast<double>(record.ts_ms);
  h.record_bytes = h.payload_bytes;
  h.ticket = record.ticket;
  h.deferral = record.deferral;
  std::memcpy(to, &h, sizeof h);
  to += sizeof h;
  for (std::string_view part : {record.device, record.topic, record.payload}) {
    if (!part.empty()) std::memcpy(to, part.data(), part.size());
    to += part.size();
  }
}

Record ReadRecordFrame(const char* frame) {
  FrameHeader h;
  std::memcpy(&h, frame, sizeof h);
  const char* strings = frame + sizeof h;
  Record record;
  record.device = {strings, h.device_bytes};
  record.topic = {strings + h.device_bytes, h.topic_bytes};
  record.payload = {strings + h.device_bytes + h.topic_bytes, h.payload_bytes};
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
