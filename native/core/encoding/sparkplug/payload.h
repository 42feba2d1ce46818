// Writes payloads of Sparkplug B (Eclipse Sparkplug 3.0, chapter 6) in the encoding of Protocol
// Buffers.
#ifndef SEGANET_CORE_ENCODING_SPARKPLUG_PAYLOAD_H_
#define SEGANET_CORE_ENCODING_SPARKPLUG_PAYLOAD_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace seganet::sparkplug {

// [6.4.16] The data types that are used here.
enum class DataType : uint8_t {
  kNone = 0,  // no data type in the metric
  kInt64 = 4,
  kUInt64 = 8,
  kDouble = 10,
  kBoolean = 11,
  kString = 12,
  kBytes = 17,
};

// The value of a metric; the view points to memory of the caller.
struct Value {
  enum class Kind : uint8_t { kNull, kInteger, kDouble, kBoolean, kString, kBytes };
  Kind kind = Kind::kNull;
  uint64_t integer = 0;  // a negative Int64 in two's complement
  double number = 0;
  bool boolean = false;
  std::string_view text = {};  // kString: UTF-8
};

// A property of a metric, of type String.
struct Property {
  std::string_view key, value;
};

// A metric; what is empty or 0 is left out.
struct MetricFields {
  std::string_view name = {};
  uint64_t alias = 0;
  int64_t ts_ms = 0;  // always present
  DataType type = DataType::kNone;
  bool is_historical = false;
  Value value = {};
  std::vector<Property> properties = {};
};

// Writes one payload: first the time, then its metrics, then the rest.
//
// Thread safety: none; one object for all payloads, because it keeps its memory.
class PayloadWriter {
 public:
  // Begins a payload. `ts_ms`: when it is sent.
  void Begin(int64_t ts_ms, std::string* out);
  void Add(const MetricFields& metric);
  // [6.4.7] 0..255.
  void Sequence(uint8_t seq);
  void Uuid(std::string_view text);

 private:
  void AddProperties(const std::vector<Property>& properties);

  std::string* out_ = nullptr;
  std::string metric_, set_, scratch_;
};

}  // namespace seganet::sparkplug

#endif  // SEGANET_CORE_ENCODING_SPARKPLUG_PAYLOAD_H_
