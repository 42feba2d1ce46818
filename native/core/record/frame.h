// Frames: the format in which a record or batch crosses a ring between JavaScript and a worker, in
// either direction. nodes/lib/base/frame.js reads the same layout.
#ifndef SEGANET_CORE_RECORD_FRAME_H_
#define SEGANET_CORE_RECORD_FRAME_H_

#include <cstdint>
#include <string_view>

#include "core/record/record.h"

namespace seganet {

// Sums of the lengths in frames and batches must not wrap.
static_assert(sizeof(size_t) == 8, "the engine needs a 64-bit platform");

enum class FrameKind : uint8_t { kRecord = 0, kEnvelope = 1 };

// The layout in memory is as declared; all supported platforms are little endian. After the header
// come device, topic, payload, trace, note, and padding to a multiple of 8.
struct FrameHeader {
  uint32_t total_bytes;  // header, strings, payload, padding
  uint32_t stage;
  uint8_t kind;  // FrameKind
  uint8_t record_class;
  uint8_t flags;
  uint8_t reason;  // envelopes: SealReason
  uint32_t seq;
  uint32_t record_count;
  uint32_t device_bytes;
  uint32_t topic_bytes;
  uint32_t payload_bytes;
  double ts_ms;
  double last_ts_ms;
  double batch_id;
  uint32_t record_bytes;  // payload bytes of the records, without the encoding's overhead
  uint32_t ticket;
  uint32_t deferral;  // Record::deferral
  uint32_t trace_bytes;
  uint32_t note_bytes;  // Record::note
  uint32_t unused;
};
static_assert(sizeof(FrameHeader) == 80);

// Flag in FrameHeader::flags of frames to a worker: the device's next sequence number replaces seq.
inline constexpr uint8_t kFlagAssignSeq = 0x80;

// Returns the size of a frame with this many bytes after the header.
inline size_t FrameBytes(size_t bytes) { return (sizeof(FrameHeader) + bytes + 7) & ~size_t{7}; }
// Returns the size of a record's frame.
inline size_t FrameBytes(const Record& record) {
  return FrameBytes(record.device.size() + record.topic.size() + record.payload.size() +
                    record.trace.size() + record.note.size());
}

// Writes a record's frame. REQUIRES: `to` has room for FrameBytes(record) bytes and is 8-aligned.
void WriteRecordFrame(const Record& record, uint32_t stage, char* to);

// Reads the record in a frame. Its views point into `frame`; arrived_us stays 0.
Record ReadRecordFrame(const char* frame);
// Reads the stage id of a frame.
uint32_t FrameStage(const char* frame);

}  // namespace seganet

#endif  // SEGANET_CORE_RECORD_FRAME_H_
