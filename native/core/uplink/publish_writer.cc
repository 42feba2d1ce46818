#include "core/uplink/publish_writer.h"

#include <algorithm>
#include <charconv>

#include "core/base/require.h"
#include "core/record/stored_payload.h"
#include "core/record/trace_context.h"

namespace seganet {
namespace {

constexpr size_t kMaxText = 65'535;               // [MQTT 1.5.3]
constexpr size_t kMaxRemaining = 268'435'455;     // [MQTT 2.2.3]
constexpr size_t kIdBytes = 2, kLengthBytes = 2;  // of a packet identifier, of a string's length

// [MQTT 3.3.2.3.7] A user property: its identifier, and two strings with their lengths.
constexpr std::string_view kKeyProperty("\x26\0\x0bseganet-key", 14);
constexpr std::string_view kHistoryProperty(
    "\x26\0\x0fseganet-history\0\x01"
    "1",
    21);
constexpr std::string_view kTraceparentProperty("\x26\0\x0btraceparent", 14);
constexpr std::string_view kTracestateProperty("\x26\0\x0atracestate", 13);
constexpr std::string_view kZstdProperty(
    "\x26\0\x10"
    "content-encoding\0\x04zstd",
    25);
constexpr std::string_view kDeflateProperty(
    "\x26\0\x10"
    "content-encoding\0\x07"
    "deflate",
    28);
constexpr std::string_view kKeyField = "\"k\":\"";
constexpr char kContentType = '\x03';  // [MQTT 3.3.2.3.9]
// Memory that a large envelope has needed beyond this is freed by the next one.
constexpr size_t kKeptEnvelopeBytes = 262'144;

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

size_t TracePropertyBytes(std::string_view trace) {
  if (trace.empty()) return 0;
  const size_t parent = kTraceparentProperty.size() + kLengthBytes + kTraceparentBytes;
  const std::string_view state = TracestateOf(trace);
  return parent + (state.empty() ? 0 : kTracestateProperty.size() + kLengthBytes + state.size());
}

void WriteTraceProperties(std::string_view trace, std::string* out) {
  if (trace.empty()) return;
  out->append(kTraceparentProperty);
  WriteU16(kTraceparentBytes, out);
  out->append(TraceparentOf(trace));
  const std::string_view state = TracestateOf(trace);
  if (state.empty()) return;
  out->append(kTracestateProperty);
  WriteU16(state.size(), out);
  out->append(state);
}

std::string_view EncodingProperty(Compression compression) {
  return compression == Compression::kZstd ? kZstdProperty : kDeflateProperty;
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

Message MessageOf(const Batch& batch) {
  SEGANET_REQUIRE(batch.kind == BatchKind::kSingle || batch.kind == BatchKind::kEnvelope);
  const bool is_single = batch.kind == BatchKind::kSingle;
  const std::string_view bytes = batch.bytes;
  Message message;
  // Only a single record has its device and topic before the payload.
  const size_t payload_at = is_single ? size_t{batch.device_bytes} + batch.topic_bytes : 0;
  message.device = bytes.substr(0, is_single ? batch.device_bytes : 0);
  message.topic = bytes.substr(message.device.size(), payload_at - message.device.size());
  message.payload = bytes.substr(payload_at);
  const StoredTail tail = is_single ? TakeTail(batch.flags, &message.payload) : StoredTail();
  message.trace = tail.trace;
  message.ts_ms = tail.is_stamped ? tail.ts_ms : batch.first_ts_ms;
  message.seq = tail.seq;
  message.record_class = batch.record_class;
  message.records = batch.record_count;
  message.is_envelope = !is_single;
  message.has_lines = !is_single || (batch.flags & kFlagEnvelope) != 0;
  message.retain = (batch.flags & kFlagRetain) != 0;
  message.is_history = batch.backlog;
  message.epoch = batch.epoch;
  message.sequence = batch.sequence;
  return message;
}

size_t PublishWriter::Prepare(const Message& message, const UplinkStage& stage, bool is_v5,
                              bool retain_available) {
  SEGANET_REQUIRE(ValidClass(message.record_class));
  message_ = message;
  stage_ = &stage;
  is_v5_ = is_v5;
  retain_ = message.retain && retain_available;
  MakeTail();
  is_sparkplug_ = stage.format == Format::kSparkplug && edge_node_ != nullptr;
  if (is_sparkplug_) {
    if (!PrepareSparkplug()) return 0;
  } else {
    if (!MeasureTopic()) return 0;
    MeasureField();
    is_encoded_ = Encode();
    PackPayload();
  }
  remaining_ = kLengthBytes + topic_bytes_ + (stage.qos > 0 ? kIdBytes : 0) + PayloadBytes();
  if (is_v5) {
    const size_t key_bytes = stage.key_raw.size() + tail_bytes_;
    if (key_bytes > kMaxText) return 0;
    has_key_property_ = prefix_.empty();
    has_history_property_ = message_.is_history && stage.history == History::kProperty;
    property_bytes_ = (has_key_property_ ? kKeyProperty.size() + kLengthBytes + key_bytes : 0) +
                      (content_type_.empty() ? 0 : 1 + kLengthBytes + content_type_.size()) +
                      (is_packed_ && prefix_.empty()
                           ? EncodingProperty(stage.packer->options().compression).size()
                           : 0) +
                      (has_history_property_ ? kHistoryProperty.size() : 0) +
                      TracePropertyBytes(message_.trace);
    remaining_ += LengthBytes(property_bytes_) + property_bytes_;
  }
  if (remaining_ > kMaxRemaining) return 0;
  return 1 + LengthBytes(remaining_) + remaining_;
}

size_t PublishWriter::TopicBytes(const Parts& topic) const {
  size_t bytes = 0;
  for (const TopicPart& part : topic) {
    switch (part.kind) {
      case TopicPart::Kind::kText:
        bytes += part.text.size();
        break;
      case TopicPart::Kind::kDevice:
        bytes += message_.device.size();
        break;
      case TopicPart::Kind::kTopic:
        bytes += message_.topic.size();
        break;
    }
  }
  return bytes;
}

// Selects and measures the topic. Returns false if it is not valid in a PUBLISH.
bool PublishWriter::MeasureTopic() {
  const Parts& of_envelopes = stage_->topic[message_.record_class];
  topic_ = message_.is_envelope ? &of_envelopes : &stage_->record_topic[message_.record_class];
  topic_bytes_ = TopicBytes(*topic_);
  if (topic_bytes_ == 0) {
    // A record without a topic gets the topic of envelopes.
    topic_ = &of_envelopes;
    topic_bytes_ = TopicBytes(*topic_);
  }
  if (topic_bytes_ == 0) return false;
  const bool has_suffix = message_.is_history && stage_->history == History::kSuffix;
  suffix_ = has_suffix ? std::string_view(stage_->history_suffix) : std::string_view();
  topic_bytes_ += suffix_.size();
  return topic_bytes_ <= kMaxText &&
         std::none_of(message_.topic.begin(), message_.topic.end(), IsWildcardOrNul);
}

// Returns false if the topic is too long.
bool PublishWriter::PrepareSparkplug() {
  sparkplug::Records records;
  records.device = message_.device;
  records.topic = message_.topic;
  records.trace = message_.trace;
  records.record_class = message_.record_class;
  records.ts_ms = message_.ts_ms;
  records.seq = message_.seq;
  records.has_lines = message_.has_lines;
  records.bytes = message_.payload;
  records.is_history = message_.is_history;
  // With MQTT 5, the key is a property.
  lines_.assign(stage_->key_raw).append(tail());
  if (!is_v5_) records.key = lines_;
  edge_node_->Prepare(records);
  encoded_.assign(edge_node_->payload());
  is_encoded_ = true;
  is_packed_ = retain_ = false;
  prefix_.clear();
  content_type_ = suffix_ = {};
  field_bytes_ = 0;
  // The metrics are marked as historical instead, and have the trace.
  message_.is_history = false;
  message_.trace = {};
  message_.device = edge_node_->device();
  sparkplug_topic_ = {{TopicPart::Kind::kText, edge_node_->TopicOf("DDATA") + "/"},
                      {TopicPart::Kind::kDevice, {}}};
  topic_ = &sparkplug_topic_;
  topic_bytes_ = TopicBytes(*topic_);
  return topic_bytes_ <= kMaxText;
}

void PublishWriter::MakeTail() {
  char* const end = tail_.data() + tail_.size();
  char* at = tail_.data();
  *at++ = '/';
  at = std::to_chars(at, end, message_.epoch, 36).ptr;
  *at++ = '/';
  *at++ = static_cast<char>('0' + message_.record_class);
  *at++ = '/';
  at = std::to_chars(at, end, message_.sequence).ptr;
  if (message_.part >= 0) {
    *at++ = '.';
    at = std::to_chars(at, end, message_.part).ptr;
  }
  tail_bytes_ = static_cast<size_t>(at - tail_.data());
}

// Measures the key as the first field of an envelope's first line. Only a payload that begins with
// an object gets it.
void PublishWriter::MeasureField() {
  field_bytes_ = 0;
  const std::string_view payload = message_.payload;
  if (!message_.has_lines || payload.empty() || payload[0] != '{') return;
  size_t next = 1;
  while (next < payload.size() && static_cast<uint8_t>(payload[next]) <= ' ') ++next;
  field_has_comma_ = next == payload.size() || payload[next] != '}';
  field_bytes_ =
      kKeyField.size() + stage_->key_json.size() + tail_bytes_ + (field_has_comma_ ? 2 : 1);
}

// A receiver finds the key of a payload with a prefix in its first line only.
bool PublishWriter::NeedsPrefix() const {
  return !is_v5_ || (stage_->packer->dictionary() && field_bytes_ > 0);
}

// Compresses an envelope, if the stage does so and it becomes smaller.
void PublishWriter::PackPayload() {
  is_packed_ = false;
  prefix_.clear();
  EnvelopePacker* const packer = stage_->packer.get();
  if (!packer || !message_.has_lines || !packer->MayPack(message_.payload)) return;
  const Compression compression = packer->options().compression;
  size_t overhead = 0;
  if (NeedsPrefix()) {
    const Format format = is_encoded_ ? stage_->format : Format::kNdjson;
    AppendPrefix(static_cast<uint8_t>(format), compression, packer->dictionary(), &prefix_);
    overhead = prefix_.size();
  } else {
    // Without a key in the first line, the property needs a payload without a dictionary.
    if (packer->dictionary()) return;
    overhead = EncodingProperty(compression).size();
  }
  if (!is_encoded_) {
    lines_.clear();
    WriteLines(&lines_);
  }
  is_packed_ = packer->Pack(is_encoded_ ? encoded_ : lines_, overhead, &packed_);
  if (!is_packed_) prefix_.clear();
}

void PublishWriter::Write(uint16_t id, bool dup, std::string* out) const {
  SEGANET_REQUIRE(topic_bytes_ > 0 && remaining_ > 0 && remaining_ <= kMaxRemaining);
  const bool has_qos = stage_->qos > 0;
  // The sequence number differs each time, so it is another message.
  if (is_sparkplug_) dup = false;
  // [MQTT 3.3.1] PUBLISH, DUP (0 at QoS 0 [MQTT-3.3.1-2]), QoS, RETAIN.
  out->push_back(static_cast<char>(0x30 | (has_qos ? 0x02 : 0) | (dup && has_qos ? 0x08 : 0) |
                                   (retain_ ? 0x01 : 0)));
  WriteLength(remaining_, out);
  WriteU16(topic_bytes_, out);
  WriteTopic(out);
  if (has_qos) WriteU16(id, out);
  if (is_v5_) WriteProperties(out);
  if (is_packed_) {
    out->append(prefix_).append(packed_);
  } else if (is_encoded_) {
    out->append(encoded_);
  } else {
    WriteLines(out);
  }
  if (stage_->sent) CountSent();
}

void PublishWriter::CountSent() const {
  SentTotals& sent = *stage_->sent;
  const size_t payload = PayloadBytes();
  sent.packets.fetch_add(1, std::memory_order_relaxed);
  sent.records.fetch_add(message_.records, std::memory_order_relaxed);
  sent.head.fetch_add(1 + LengthBytes(remaining_) + remaining_ - payload,
                      std::memory_order_relaxed);
  sent.payload.fetch_add(payload, std::memory_order_relaxed);
  const size_t lines = is_encoded_ ? encoded_.size() : lines_.size();
  sent.plain.fetch_add(is_packed_ ? lines : payload, std::memory_order_relaxed);
}

size_t PublishWriter::PayloadBytes() const {
  if (is_packed_) return prefix_.size() + packed_.size();
  return is_encoded_ ? encoded_.size() : field_bytes_ + message_.payload.size();
}

bool PublishWriter::Encode() {
  content_type_ = {};
  // A message for an edge node that there is not stays NDJSON.
  if (!message_.has_lines || stage_->format == Format::kNdjson ||
      stage_->format == Format::kSparkplug) {
    return false;
  }
  std::unique_ptr<EnvelopeCoder>& coder = coders_[static_cast<size_t>(stage_->format)];
  if (lines_.capacity() > kKeptEnvelopeBytes) {
    lines_ = {};
    encoded_ = {};
    coder.reset();
  }
  if (!coder) coder = MakeEnvelopeCoder(stage_->format);
  lines_.clear();
  encoded_.clear();
  WriteLines(&lines_);
  if (!coder->Encode(lines_, &encoded_)) return false;
  content_type_ = coder->content_type();
  return true;
}

// Writes the payload of the message, with the key if it is an envelope.
void PublishWriter::WriteLines(std::string* out) const {
  if (field_bytes_ == 0) {
    out->append(message_.payload);
    return;
  }
  out->push_back('{');
  out->append(kKeyField).append(stage_->key_json).append(tail());
  out->append(field_has_comma_ ? "\"," : "\"");
  out->append(message_.payload.substr(1));
}

void PublishWriter::WriteTopic(std::string* out) const {
  for (const TopicPart& part : *topic_) {
    switch (part.kind) {
      case TopicPart::Kind::kText:
        out->append(part.text);
        break;
      case TopicPart::Kind::kDevice:
        WriteLevel(message_.device, out);
        break;
      case TopicPart::Kind::kTopic:
        out->append(message_.topic);
        break;
    }
  }
  out->append(suffix_);
}

size_t PublishWriter::topic_at() const { return 1 + LengthBytes(remaining_) + kLengthBytes; }

bool PublishWriter::HasDeviceTopic() const {
  return std::any_of(topic_->begin(), topic_->end(),
                     [](const TopicPart& part) { return part.kind != TopicPart::Kind::kText; });
}

void PublishWriter::WriteProperties(std::string* out) const {
  WriteLength(property_bytes_, out);
  if (!content_type_.empty()) {
    out->push_back(kContentType);
    WriteU16(content_type_.size(), out);
    out->append(content_type_);
  }
  if (has_key_property_) {
    out->append(kKeyProperty);
    WriteU16(stage_->key_raw.size() + tail_bytes_, out);
    out->append(stage_->key_raw).append(tail());
  }
  if (is_packed_ && prefix_.empty()) {
    out->append(EncodingProperty(stage_->packer->options().compression));
  }
  if (has_history_property_) out->append(kHistoryProperty);
  WriteTraceProperties(message_.trace, out);
}

}  // namespace seganet
