#include "core/uplink/publish_writer.h"

#include <algorithm>
#include <charconv>

#include "core/base/require.h"

namespace seganet {
namespace {

constexpr size_t kMaxText = 65'535;               // [MQTT 1.5.3]
constexpr size_t kMaxRemaining = 268'435'455;     // [MQTT 2.2.3]
constexpr size_t kIdBytes = 2, kLengthBytes = 2;  // of a packet identifier, of a string's length

// [MQTT 3.3.2.3.7] A user property: its identifier, and two strings with their lengths.
constexpr std::string_view kKeyProperty("\x26\0\x0bseganet-key", 14);
constexpr std::string_view kKeyField = "\"k\":\"";

bool IsWildcardOrNul(char c) { return c == '+' || c == '#' || c == '\0'; }

// [MQTT 1.5.5] Returns the size of a variable byte integer.
size_t LengthBytes(size_t value) {
  if (value < 128) return 1;
  if (value < 16'384) return 2;
  return value < 2'097'152 ? 3 : 4;
}

void WriteLength(size_t value, std::string* out) {
  for (; value > 127; value >>= 7) out->push_back(static_cast<char>((value & 0x7F) | 0x80));
  out->push_back(static_cast<char>(value));
}

void WriteU16(size_t value, std::string* out) {
  out->push_back(static_cast<char>(value >> 8));
  out->push_back(static_cast<char>(value & 0xFF));
}

// A device id is one level of the topic. Separators, wildcards and NUL in it become _, so that no
// device can publish in another's name.
void WriteLevel(std::string_view device, std::string* out) {
  const size_t from = out->size();
  out->append(device);
  for (size_t i = from; i < out->size(); ++i) {
    char& c = (*out)[i];
    if (c == '/' || IsWildcardOrNul(c)) c = '_';
  }
}

}  // namespace

size_t PublishWriter::Prepare(const Batch& batch, const UplinkStage& stage, bool is_v5,
                              bool retain_available) {
  SEGANET_REQUIRE(batch.kind == BatchKind::kSingle || batch.kind == BatchKind::kEnvelope);
  SEGANET_REQUIRE(!batch.backlog && ValidClass(batch.record_class));
  stage_ = &stage;
  is_v5_ = is_v5;
  retain_ = (batch.flags & kFlagRetain) != 0 && retain_available;
  const bool is_single = batch.kind == BatchKind::kSingle;
  // Only a single record has its device and topic before the payload.
  const std::string_view bytes = batch.bytes;
  const size_t payload_at = is_single ? size_t{batch.device_bytes} + batch.topic_bytes : 0;
  device_ = bytes.substr(0, is_single ? batch.device_bytes : 0);
  own_topic_ = bytes.substr(device_.size(), payload_at - device_.size());
  payload_ = bytes.substr(payload_at);
  if (!MeasureTopic(batch, stage)) return 0;
  MakeTail(batch);
  MeasureField(!is_single || (batch.flags & kFlagEnvelope) != 0, stage);
  remaining_ = kLengthBytes + topic_bytes_ + kIdBytes + field_bytes_ + payload_.size();
  if (is_v5) {
    const size_t key_bytes = stage.key_raw.size() + tail_bytes_;
    if (key_bytes > kMaxText) return 0;
    property_bytes_ = kKeyProperty.size() + kLengthBytes + key_bytes;
    remaining_ += LengthBytes(property_bytes_) + property_bytes_;
  }
  if (remaining_ > kMaxRemaining) return 0;
  return 1 + LengthBytes(remaining_) + remaining_;
}

size_t PublishWriter::TopicBytes(const Topic& topic) const {
  size_t bytes = 0;
  for (const TopicPart& part : topic) {
    switch (part.kind) {
      case TopicPart::Kind::kText:
        bytes += part.text.size();
        break;
      case TopicPart::Kind::kDevice:
        bytes += device_.size();
        break;
      case TopicPart::Kind::kTopic:
        bytes += own_topic_.size();
        break;
    }
  }
  return bytes;
}

// Selects and measures the topic. Returns false if it is not valid in a PUBLISH.
bool PublishWriter::MeasureTopic(const Batch& batch, const UplinkStage& stage) {
  const Topic& of_envelopes = stage.topic[batch.record_class];
  topic_ =
      batch.kind == BatchKind::kEnvelope ? &of_envelopes : &stage.record_topic[batch.record_class];
  topic_bytes_ = TopicBytes(*topic_);
  if (topic_bytes_ == 0) {
    // A record without a topic gets the topic of envelopes.
    topic_ = &of_envelopes;
    topic_bytes_ = TopicBytes(*topic_);
  }
  return topic_bytes_ > 0 && topic_bytes_ <= kMaxText &&
         std::none_of(own_topic_.begin(), own_topic_.end(), IsWildcardOrNul);
}

void PublishWriter::MakeTail(const Batch& batch) {
  char* const end = tail_.data() + tail_.size();
  char* at = tail_.data();
  *at++ = '/';
  at = std::to_chars(at, end, batch.epoch, 36).ptr;
  *at++ = '/';
  *at++ = static_cast<char>('0' + batch.record_class);
  *at++ = '/';
  at = std::to_chars(at, end, batch.sequence).ptr;
  tail_bytes_ = static_cast<size_t>(at - tail_.data());
}

// Measures the key as the first field of an envelope's first line. Only a payload that begins with
// an object gets it.
void PublishWriter::MeasureField(bool is_envelope, const UplinkStage& stage) {
  field_bytes_ = 0;
  if (!is_envelope || payload_.empty() || payload_[0] != '{') return;
  size_t next = 1;
  while (next < payload_.size() && static_cast<uint8_t>(payload_[next]) <= ' ') ++next;
  field_has_comma_ = next == payload_.size() || payload_[next] != '}';
  field_bytes_ =
      kKeyField.size() + stage.key_json.size() + tail_bytes_ + (field_has_comma_ ? 2 : 1);
}

void PublishWriter::Write(uint16_t id, bool dup, std::string* out) const {
  SEGANET_REQUIRE(topic_bytes_ > 0 && remaining_ > 0 && remaining_ <= kMaxRemaining);
  // [MQTT 3.3.1] PUBLISH, DUP, QoS 1, RETAIN.
  out->push_back(static_cast<char>(0x32 | (dup ? 0x08 : 0) | (retain_ ? 0x01 : 0)));
  WriteLength(remaining_, out);
  WriteU16(topic_bytes_, out);
  WriteTopic(out);
  WriteU16(id, out);
  if (is_v5_) WriteProperties(out);
  if (field_bytes_ == 0) {
    out->append(payload_);
    return;
  }
  out->push_back('{');
  out->append(kKeyField).append(stage_->key_json).append(tail());
  out->append(field_has_comma_ ? "\"," : "\"");
  out->append(payload_.substr(1));
}

void PublishWriter::WriteTopic(std::string* out) const {
  for (const TopicPart& part : *topic_) {
    switch (part.kind) {
      case TopicPart::Kind::kText:
        out->append(part.text);
        break;
      case TopicPart::Kind::kDevice:
        WriteLevel(device_, out);
        break;
      case TopicPart::Kind::kTopic:
        out->append(own_topic_);
        break;
    }
  }
}

void PublishWriter::WriteProperties(std::string* out) const {
  WriteLength(property_bytes_, out);
  out->append(kKeyProperty);
  WriteU16(stage_->key_raw.size() + tail_bytes_, out);
  out->append(stage_->key_raw).append(tail());
}

}  // namespace seganet
