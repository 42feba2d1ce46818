#include "binding/batch_meta.h"

#include <algorithm>

#include "binding/node/args.h"
#include "core/record/encoder.h"
#include "core/record/record.h"
#include "core/record/stored_payload.h"

namespace seganet::binding {
namespace {

constexpr size_t kMetaLength = 16;

// Indices of meta.
enum : size_t {
  kId,
  kClass,
  kRecords,
  kStage,
  kKind,
  kFlags,
  kFirstTs,
  kLastTs,
  kReason,
  kRedelivery,
  kTopicBytes,
  kDeviceBytes,
  kEpoch,
  kSequence,
  kBacklog,
  kAge
};

// Returns the time since the batch's oldest record arrived. For the backlog, the monotonic clock of
// an earlier run is meaningless, so the wall clock is used.
double AgeMs(const Batch& batch, const Now& now) {
  if (!batch.backlog) return static_cast<double>(now.mono_us - batch.oldest_us) / 1000;
  return static_cast<double>(std::max<int64_t>(0, now.wall_ms - batch.first_ts_ms));
}

bool IsNumber(double value) { return value >= 0 && value <= kMaxSafeInteger; }

int64_t TimeOf(double ms) {
  return ms >= -kMaxSafeInteger && ms <= kMaxSafeInteger ? static_cast<int64_t>(ms) : 0;
}

// The share of a batch of records: one entry.
bool ReadShare(std::string_view entry, Message* message) {
  Entry read;
  if (!ReadEntry(entry, &read)) return false;
  message->device = read.device;
  message->topic = read.topic;
  message->payload = read.payload;
  message->trace = read.trace;
  if (read.is_stamped) {
    message->ts_ms = read.ts_ms;
    message->seq = read.seq;
  }
  message->retain = (read.flags & kFlagRetain) != 0;
  return true;
}

}  // namespace

double* ReadMeta(Napi::Env env, Napi::Value value) {
  if (value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == napi_float64_array &&
      value.As<Napi::TypedArray>().ElementLength() >= kMetaLength) {
    return value.As<Napi::Float64Array>().Data();
  }
  Napi::TypeError::New(env, "meta must be a Float64Array of at least 16")
      .ThrowAsJavaScriptException();
  return nullptr;
}

void WriteMeta(const Batch& batch, const Now& now, double* meta) {
  meta[kId] = static_cast<double>(batch.id);
  meta[kClass] = batch.record_class;
  meta[kRecords] = batch.record_count;
  meta[kStage] = batch.stage;
  meta[kKind] = static_cast<double>(batch.kind);
  meta[kFlags] = batch.flags;
  meta[kFirstTs] = static_cast<double>(batch.first_ts_ms);
  meta[kLastTs] = static_cast<double>(batch.last_ts_ms);
  meta[kReason] = static_cast<double>(batch.reason);
  meta[kRedelivery] = batch.redelivery ? 1 : 0;
  meta[kTopicBytes] = batch.topic_bytes;
  meta[kDeviceBytes] = batch.device_bytes;
  meta[kEpoch] = static_cast<double>(batch.epoch);
  meta[kSequence] = static_cast<double>(batch.sequence);
  meta[kBacklog] = batch.backlog ? 1 : 0;
  meta[kAge] = AgeMs(batch, now);
}

bool MessageFrom(const double* meta, std::string_view bytes, size_t from, size_t to, int64_t part,
                 Message* message) {
  const double record_class = meta[kClass];
  if (!(record_class >= kCritical && record_class <= kClasses) || !IsNumber(meta[kEpoch]) ||
      !IsNumber(meta[kSequence]) || from > to || to > bytes.size()) {
    return false;
  }
  *message = {};
  message->record_class = static_cast<uint8_t>(record_class);
  message->epoch = static_cast<uint64_t>(meta[kEpoch]);
  message->sequence = static_cast<uint64_t>(meta[kSequence]);
  message->is_history = meta[kBacklog] != 0;
  message->part = part;
  message->ts_ms = TimeOf(meta[kFirstTs]);
  const auto kind = static_cast<int>(meta[kKind]);
  if (kind == static_cast<int>(BatchKind::kRecords)) {
    return ReadShare(bytes.substr(from, to - from), message);
  }
  const bool is_whole = part == Message::kWhole && IsNumber(meta[kRecords]);
  message->records =
      is_whole ? static_cast<uint32_t>(std::min<double>(meta[kRecords], UINT32_MAX)) : 0;
  const auto flags = static_cast<unsigned>(meta[kFlags]);
  message->payload = bytes.substr(from, to - from);
  message->retain = (flags & kFlagRetain) != 0;
  message->is_envelope = kind == static_cast<int>(BatchKind::kEnvelope);
  message->has_lines = message->is_envelope || (flags & kFlagEnvelope) != 0;
  if (message->is_envelope) return true;
  const StoredTail tail = TakeTail(static_cast<uint8_t>(flags), &message->payload);
  message->trace = tail.trace;
  if (tail.is_stamped) {
    message->ts_ms = tail.ts_ms;
    message->seq = tail.seq;
  }
  if (!IsNumber(meta[kDeviceBytes]) || !IsNumber(meta[kTopicBytes])) return false;
  const auto device = static_cast<size_t>(meta[kDeviceBytes]);
  const auto topic = static_cast<size_t>(meta[kTopicBytes]);
  if (device > from || topic > from - device) return false;
  message->device = bytes.substr(0, device);
  message->topic = bytes.substr(device, topic);
  return true;
}

}  // namespace seganet::binding
