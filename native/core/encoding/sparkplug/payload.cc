#include "core/encoding/sparkplug/payload.h"

#include <bit>

namespace seganet::sparkplug {
namespace {

// Numbers of the fields in sparkplug_b.proto.
enum PayloadField : uint32_t { kTimestamp = 1, kMetrics = 2, kSeq = 3, kUuid = 4 };
enum MetricField : uint32_t {
  kName = 1,
  kAlias = 2,
  kMetricTimestamp = 3,
  kDatatype = 4,
  kIsHistorical = 5,
  kIsNull = 7,
  kProperties = 9,
  kLongValue = 11,
  kDoubleValue = 13,
  kBooleanValue = 14,
  kStringValue = 15,
  kBytesValue = 16,
};
enum PropertyField : uint32_t { kKeys = 1, kValues = 2, kPropertyType = 1, kPropertyString = 8 };

// Wire types.
constexpr uint32_t kVarint = 0, kFixed64 = 1, kDelimited = 2;

void AppendVarint(uint64_t value, std::string* out) {
  for (; value > 0x7F; value >>= 7) out->push_back(static_cast<char>((value & 0x7F) | 0x80));
  out->push_back(static_cast<char>(value));
}

void AppendTag(uint32_t field, uint32_t wire_type, std::string* out) {
  AppendVarint(field << 3 | wire_type, out);
}

void AppendNumber(uint32_t field, uint64_t value, std::string* out) {
  AppendTag(field, kVarint, out);
  AppendVarint(value, out);
}

void AppendText(uint32_t field, std::string_view text, std::string* out) {
  AppendTag(field, kDelimited, out);
  AppendVarint(text.size(), out);
  out->append(text);
}

void AppendDouble(uint32_t field, double value, std::string* out) {
  AppendTag(field, kFixed64, out);
  const auto bits = std::bit_cast<uint64_t>(value);
  for (int shift = 0; shift < 64; shift += 8) out->push_back(static_cast<char>(bits >> shift));
}

void AppendValue(const Value& value, std::string* out) {
  switch (value.kind) {
    case Value::Kind::kNull:
      AppendNumber(kIsNull, 1, out);
      break;
    case Value::Kind::kInteger:
      AppendNumber(kLongValue, value.integer, out);
      break;
    case Value::Kind::kDouble:
      AppendDouble(kDoubleValue, value.number, out);
      break;
    case Value::Kind::kBoolean:
      AppendNumber(kBooleanValue, value.boolean ? 1 : 0, out);
      break;
    case Value::Kind::kString:
      AppendText(kStringValue, value.text, out);
      break;
    case Value::Kind::kBytes:
      AppendText(kBytesValue, value.text, out);
      break;
  }
}

}  // namespace

void PayloadWriter::Begin(int64_t ts_ms, std::string* out) {
  out_ = out;
  AppendNumber(kTimestamp, static_cast<uint64_t>(ts_ms), out_);
}

void PayloadWriter::Add(const MetricFields& metric) {
  metric_.clear();
  if (!metric.name.empty()) AppendText(kName, metric.name, &metric_);
  if (metric.alias > 0) AppendNumber(kAlias, metric.alias, &metric_);
  AppendNumber(kMetricTimestamp, static_cast<uint64_t>(metric.ts_ms), &metric_);
  if (metric.type != DataType::kNone) {
    AppendNumber(kDatatype, static_cast<uint64_t>(metric.type), &metric_);
  }
  if (metric.is_historical) AppendNumber(kIsHistorical, 1, &metric_);
  // A null is before the properties, a value behind them: fields ascend.
  if (metric.value.kind == Value::Kind::kNull) AppendValue(metric.value, &metric_);
  AddProperties(metric.properties);
  if (metric.value.kind != Value::Kind::kNull) AppendValue(metric.value, &metric_);
  AppendText(kMetrics, metric_, out_);
}

void PayloadWriter::AddProperties(const std::vector<Property>& properties) {
  if (properties.empty()) return;
  set_.clear();
  for (const Property& property : properties) AppendText(kKeys, property.key, &set_);
  for (const Property& property : properties) {
    scratch_.clear();
    AppendNumber(kPropertyType, static_cast<uint64_t>(DataType::kString), &scratch_);
    AppendText(kPropertyString, property.value, &scratch_);
    AppendText(kValues, scratch_, &set_);
  }
  AppendText(kProperties, set_, &metric_);
}

void PayloadWriter::Sequence(uint8_t seq) { AppendNumber(kSeq, seq, out_); }

void PayloadWriter::Uuid(std::string_view text) { AppendText(kUuid, text, out_); }

}  // namespace seganet::sparkplug
