#include "core/encoding/sparkplug/edge_node.h"

#include <algorithm>
#include <utility>

#include "core/base/require.h"
#include "core/record/encoder.h"
#include "core/record/trace_context.h"

namespace seganet::sparkplug {
namespace {

constexpr std::string_view kNamespace = "spBv1.0/";
// The device of an envelope that a flow made.
constexpr std::string_view kFlow = "flow";
// The number of a record has 32 bits, its class 4.
constexpr int kRunShift = 36;
constexpr char kPublish = 0x30;  // [MQTT 3.3.1] QoS 0, without RETAIN

void AppendU16(size_t value, std::string* out) {
  out->push_back(static_cast<char>(value >> 8));
  out->push_back(static_cast<char>(value & 0xFF));
}

MetricFields ControlMetric(std::string_view name, int64_t ts_ms, DataType type) {
  MetricFields metric;
  metric.name = name;
  metric.ts_ms = ts_ms;
  metric.type = type;
  metric.value.kind = type == DataType::kBoolean ? Value::Kind::kBoolean : Value::Kind::kInteger;
  return metric;
}

MetricFields BdSeqMetric(uint8_t bd_seq, int64_t ts_ms) {
  MetricFields metric = ControlMetric("bdSeq", ts_ms, DataType::kInt64);
  metric.value.integer = bd_seq;
  return metric;
}

Value StringValue(std::string_view text) {
  Value value;
  value.kind = Value::Kind::kString;
  value.text = text;
  return value;
}

}  // namespace

EdgeNode::EdgeNode(EdgeNodeOptions options)
    : options_(std::move(options)), max_birth_bytes_(options_.max_birth_bytes) {
  SEGANET_REQUIRE(options_.max_devices > 0);
}

void EdgeNode::Begin(uint8_t bd_seq, bool is_v5, size_t max_packet) {
  bd_seq_ = bd_seq;
  is_v5_ = is_v5;
  max_birth_bytes_ = options_.max_birth_bytes;
  if (max_packet > 0) max_birth_bytes_ = std::min(max_birth_bytes_, max_packet);
  Rebirth();
}

void EdgeNode::Rebirth() {
  is_born_ = false;
  seq_ = 0;
  prepared_ = nullptr;
  deaths_.clear();
  unborn_.clear();
  for (Device& device : devices_) {
    device.Forget();
    unborn_.push_back(device.id());
  }
}

void EdgeNode::Prepare(const Records& records) {
  if (TryPrepare(records)) return;
  metrics_ -= prepared_->size();
  prepared_->CarryLines();
  TryPrepare(records);
}

// Returns false if the birth of the device is too large.
bool EdgeNode::TryPrepare(const Records& records) {
  const auto forget = [this] {
    items_.clear();
    entries_.clear();
    raw_.clear();
  };
  forget();
  prepared_ = nullptr;
  if (!records.has_lines || !ReadLines(records)) {
    forget();
    AddSingle(records, /*is_whole=*/records.has_lines);
  }
  SEGANET_REQUIRE(prepared_ != nullptr);
  Evict();
  prepared_->Renumber(&next_alias_);
  before_.clear();
  uint8_t seq = seq_;
  if (!is_born_) {
    AppendNodeBirth(&before_);
    seq = 1;
  } else {
    for (const std::string& device : deaths_) {
      body_.clear();
      writer_.Begin(options_.now_ms(), &body_);
      writer_.Sequence(seq++);
      AppendPublish("DDEATH", device, &before_);
    }
  }
  const uint8_t birth_seq = seq;
  if (!prepared_->is_born()) ++seq;
  MakePayload(records, seq++);
  prepared_seq_ = seq;
  // After the payload, because a birth has the present values.
  return prepared_->is_born() || AppendDeviceBirth(prepared_, birth_seq, &before_);
}

void EdgeNode::Commit() {
  SEGANET_REQUIRE(prepared_ != nullptr);
  is_born_ = true;
  seq_ = prepared_seq_;
  deaths_.clear();
  prepared_->SetBorn();
  prepared_ = nullptr;
}

// Finds or adds a device, and makes it the one that is prepared.
void EdgeNode::TakeDevice(std::string_view id) {
  std::string level = LevelOf(id.empty() ? kFlow : id);
  const auto found = by_id_.find(level);
  if (found != by_id_.end()) {
    devices_.splice(devices_.begin(), devices_, found->second);
  } else {
    devices_.emplace_front(level);
    by_id_.emplace(std::move(level), devices_.begin());
  }
  prepared_ = &devices_.front();
}

// Removes the devices that were not used for the longest time, but not the first one.
void EdgeNode::Evict() {
  while (devices_.size() > 1 &&
         (devices_.size() > options_.max_devices || metrics_ > options_.max_metrics)) {
    Device& last = devices_.back();
    metrics_ -= last.size();
    if (is_born_ && last.is_born()) deaths_.push_back(last.id());
    by_id_.erase(last.id());
    devices_.pop_back();
  }
}

// Returns false if the lines are not the engine's.
bool EdgeNode::ReadLines(const Records& records) {
  std::string_view lines = records.bytes;
  std::string_view device;
  while (!lines.empty()) {
    const std::string_view text = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), text.size() + 1));
    EnvelopeLine line;
    if (!ReadEnvelopeLine(text, &line)) return false;
    if (prepared_ == nullptr) {
      text_.clear();
      if (!AppendUnescaped(line.device, &text_) || text_.size() > kMaxDeviceBytes) return false;
      device = line.device;
      TakeDevice(text_);
    }
    if (!AddLine(line, text, line.device == device)) return false;
  }
  return !entries_.empty();
}

// Returns false if the line is not the engine's.
bool EdgeNode::AddLine(const EnvelopeLine& line, std::string_view text, bool is_own) {
  topic_.clear();
  trace_.assign(line.traceparent);
  if (!line.tracestate.empty()) trace_.append(line.tracestate);
  const bool has_trace = line.traceparent.size() == kTraceparentBytes && ValidTrace(trace_);
  bool is_done = is_own && AppendUnescaped(line.topic, &topic_) && (trace_.empty() || has_trace);
  if (line.is_json) {
    if (!leaves_.Read(line.payload)) return false;
    is_done = is_done && AddValues(topic_);
  } else if (is_done) {
    const size_t at = raw_.size();
    AppendBase64Decoded(line.payload, &raw_);
    is_done = AddBytes(topic_, at);
  }
  if (!is_done) {
    trace_.clear();
    AddText(text);
  }
  Close(line.seq, line.record_class, line.ts_ms, trace_);
  return true;
}

void EdgeNode::AddSingle(const Records& records, bool is_whole) {
  TakeDevice(records.device);
  trace_.assign(records.trace);
  bool is_done = false;
  if (!is_whole && leaves_.Read(records.bytes)) {
    is_done = AddValues(records.topic);
  } else {
    raw_.assign(records.bytes);
    is_done = AddBytes(records.topic, 0);
  }
  if (!is_done) {
    Record record;
    record.device = records.device.empty() ? kFlow : records.device;
    record.topic = records.topic;
    record.payload = records.bytes;
    record.trace = records.trace;
    record.record_class = records.record_class;
    record.ts_ms = records.ts_ms;
    record.seq = records.seq;
    line_.clear();
    AppendNdjson(record, &line_);
    line_.pop_back();
    trace_.clear();
    AddText(line_);
  }
  Close(records.seq, records.record_class, records.ts_ms, trace_);
}

// True if metrics can have the topic. A NUL would end it in the key of a metric.
bool EdgeNode::IsUsable(std::string_view topic) {
  return topic.size() <= Device::kMaxNameBytes && topic.find('\0') == std::string_view::npos;
}

// Adds the values of leaves_. Returns false if the device cannot have their metrics.
bool EdgeNode::AddValues(std::string_view topic) {
  if (prepared_->has_only_lines() || !IsUsable(topic)) return false;
  size_t added = 0;
  for (const Leaf& leaf : leaves_.leaves()) {
    if (topic.size() + leaf.path.size() > Device::kMaxNameBytes) return false;
    if (prepared_->Find(Meaning::kValue, topic, leaf.path) == Device::kNone) ++added;
  }
  if (added > 0 && prepared_->size() + added > Device::kMaxMetrics) return false;
  for (const Leaf& leaf : leaves_.leaves()) {
    const size_t metric = Take(Meaning::kValue, topic, leaf.path, leaf.type);
    items_.push_back({metric, leaf.text, 0, 0, Source::kJson});
  }
  return true;
}

// Adds the bytes of raw_ from `at`. Returns false if the device cannot have their metric.
bool EdgeNode::AddBytes(std::string_view topic, size_t at) {
  if (prepared_->has_only_lines() || !IsUsable(topic)) return false;
  if (prepared_->Find(Meaning::kRaw, topic, {}) == Device::kNone &&
      prepared_->size() >= Device::kMaxMetrics) {
    return false;
  }
  const ValueType type = TypeOfBytes(std::string_view(raw_).substr(at));
  const size_t metric = Take(Meaning::kRaw, topic, {}, type);
  items_.push_back({metric, {}, at, raw_.size() - at, Source::kBytes});
  return true;
}

// Adds a record as a line of NDJSON.
void EdgeNode::AddText(std::string_view line) {
  const size_t metric = Take(Meaning::kLine, {}, {}, ValueType::kString);
  items_.push_back({metric, line, 0, 0, Source::kText});
}

// Ends a record, whose items were added.
void EdgeNode::Close(uint32_t seq, uint8_t record_class, int64_t ts_ms, std::string_view trace) {
  Entry entry;
  entry.number = uint64_t{seq} * 16 + record_class;
  entry.ts_ms = ts_ms;
  entry.items_end = items_.size();
  if (!trace.empty()) {
    entry.trace.assign(TraceparentOf(trace));
    if (const std::string_view state = TracestateOf(trace); !state.empty()) {
      entry.trace.append(" ").append(state);
    }
    Take(Meaning::kTrace, {}, {}, ValueType::kString);
  }
  Take(Meaning::kRecord, {}, {}, ValueType::kRecord);
  entries_.push_back(std::move(entry));
}

size_t EdgeNode::Take(Meaning meaning, std::string_view topic, std::string_view path,
                      ValueType type) {
  const size_t before = prepared_->size();
  const size_t metric = prepared_->Take(meaning, topic, path, type, &next_alias_);
  metrics_ += prepared_->size() - before;
  return metric;
}

void EdgeNode::MakePayload(const Records& records, uint8_t seq) {
  payload_.clear();
  writer_.Begin(options_.now_ms(), &payload_);
  const size_t record_metric = prepared_->Find(Meaning::kRecord, {}, {});
  size_t next = 0;
  for (const Entry& entry : entries_) {
    Value number;
    number.kind = Value::Kind::kInteger;
    number.integer = entry.number;
    if (&entry == &entries_.front()) number.integer |= uint64_t{options_.run} << kRunShift;
    AddMetric(record_metric, number, entry.ts_ms, records.is_history);
    for (; next < entry.items_end; ++next) {
      const Item& item = items_[next];
      AddMetric(item.metric, ValueOf(item), entry.ts_ms, records.is_history);
    }
    if (entry.trace.empty()) continue;
    AddMetric(prepared_->Find(Meaning::kTrace, {}, {}), StringValue(entry.trace), entry.ts_ms,
              records.is_history);
  }
  writer_.Sequence(seq);
  if (!records.key.empty()) writer_.Uuid(records.key);
}

// Returns the value in the form of its metric. It may point to text_.
Value EdgeNode::ValueOf(const Item& item) {
  const ValueType type = prepared_->at(item.metric).type;
  if (item.source == Source::kJson) return JsonValue(type, item.text, &text_);
  Value value = StringValue(
      item.source == Source::kText ? item.text : std::string_view(raw_).substr(item.at, item.size));
  if (type == ValueType::kBytes) value.kind = Value::Kind::kBytes;
  return value;
}

void EdgeNode::AddMetric(size_t index, const Value& value, int64_t ts_ms, bool is_history) {
  MetricFields metric;
  metric.alias = prepared_->at(index).alias;
  metric.ts_ms = ts_ms;
  metric.is_historical = is_history;
  metric.value = value;
  writer_.Add(metric);
  prepared_->Keep(index, value, ts_ms, is_history);
}

bool EdgeNode::AppendBirth(std::string* out) {
  prepared_ = nullptr;
  if (!is_born_) {
    AppendNodeBirth(out);
    is_born_ = true;
    seq_ = 1;
    return true;
  }
  while (!unborn_.empty()) {
    const auto found = by_id_.find(unborn_.front());
    unborn_.pop_front();
    if (found == by_id_.end() || found->second->is_born()) continue;
    // One that is too large comes with the next data, smaller.
    if (!AppendDeviceBirth(&*found->second, seq_, out)) continue;
    ++seq_;
    found->second->SetBorn();
    return true;
  }
  return false;
}

std::string EdgeNode::Death(uint8_t bd_seq) const {
  std::string payload;
  PayloadWriter writer;
  const int64_t now_ms = options_.now_ms();
  writer.Begin(now_ms, &payload);
  writer.Add(BdSeqMetric(bd_seq, now_ms));
  return payload;
}

std::string EdgeNode::TopicOf(std::string_view type) const {
  return std::string(kNamespace).append(options_.group).append("/").append(type).append("/") +
         options_.node;
}

void EdgeNode::AppendNodeBirth(std::string* out) {
  body_.clear();
  const int64_t now_ms = options_.now_ms();
  writer_.Begin(now_ms, &body_);
  writer_.Add(BdSeqMetric(bd_seq_, now_ms));
  writer_.Add(ControlMetric("Node Control/Rebirth", now_ms, DataType::kBoolean));
  writer_.Sequence(0);
  AppendPublish("NBIRTH", {}, out);
}

// Returns false, with *out unchanged, if the packet is too large.
bool EdgeNode::AppendDeviceBirth(Device* device, uint8_t seq, std::string* out) {
  const size_t from = out->size();
  body_.clear();
  writer_.Begin(options_.now_ms(), &body_);
  device->AppendBirth(options_.run, &writer_);
  writer_.Sequence(seq);
  AppendPublish("DBIRTH", device->id(), out);
  // The birth of one that has only lines cannot be smaller.
  if (out->size() - from <= max_birth_bytes_ || device->has_only_lines()) return true;
  out->resize(from);
  return false;
}

// Appends a PUBLISH [MQTT 3.3] with body_ as payload; no device = of the node.
void EdgeNode::AppendPublish(std::string_view type, std::string_view device, std::string* out) {
  std::string topic = TopicOf(type);
  if (!device.empty()) topic.append("/").append(device);
  out->push_back(kPublish);
  size_t remaining = 2 + topic.size() + (is_v5_ ? 1 : 0) + body_.size();
  for (; remaining > 127; remaining >>= 7) {
    out->push_back(static_cast<char>((remaining & 0x7F) | 0x80));
  }
  out->push_back(static_cast<char>(remaining));
  AppendU16(topic.size(), out);
  out->append(topic);
  if (is_v5_) out->push_back('\0');
  out->append(body_);
}

}  // namespace seganet::sparkplug
