// The metrics of one device of an edge node.
#ifndef SEGANET_CORE_ENCODING_SPARKPLUG_DEVICE_H_
#define SEGANET_CORE_ENCODING_SPARKPLUG_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/encoding/sparkplug/payload.h"
#include "core/encoding/sparkplug/value_type.h"

namespace seganet::sparkplug {

// What the values of a metric mean; a property of its birth.
enum class Meaning : uint8_t {
  kValue,   // the value at a place of a JSON payload
  kRaw,     // a payload that is not JSON
  kRecord,  // number and class of the record whose values follow
  kTrace,   // trace context of that record
  kLine,    // that record as a line of NDJSON
};

struct Metric {
  Meaning meaning = Meaning::kValue;
  // Unique in the edge node, from 1. An alias never changes its meaning, so that data that a broker
  // delivers late, after another birth, is not misread: a metric whose values become JSON text gets
  // another alias.
  uint64_t alias = 0;
  ValueType type = ValueType::kUnknown;
  std::string name;   // unique in the device
  std::string topic;  // kValue, kRaw
  std::string path;   // kValue: JSON pointer
  // The present value, if is_kept; `last.text` is unused.
  Value last;
  std::string last_text;
  int64_t last_ms = 0;
  bool is_kept = false;
};

// Thread safety: none.
class Device {
 public:
  // A device with more metrics is sent as lines.
  static constexpr size_t kMaxMetrics = 256;
  static constexpr size_t kMaxNameBytes = 512;
  // A longer string is null in births, so that a birth has a limit.
  static constexpr size_t kMaxKeptBytes = 128;

  explicit Device(std::string id) : id_(std::move(id)) {}

  // As in topics.
  const std::string& id() const { return id_; }
  size_t size() const { return metrics_.size(); }
  Metric& at(size_t index) { return metrics_[index]; }

  static constexpr size_t kNone = SIZE_MAX;
  // Returns the index of a metric, or kNone.
  size_t Find(Meaning meaning, std::string_view topic, std::string_view path);
  // Finds or adds a metric that carries values of this type. The device must be born again if that
  // changes something. `next_alias` is increased for a new metric.
  size_t Take(Meaning meaning, std::string_view topic, std::string_view path, ValueType type,
              uint64_t* next_alias);

  // Keeps a value for births, unless it is from the log and older than the kept one.
  void Keep(size_t index, const Value& value, int64_t ts_ms, bool is_history);

  // Appends all metrics as a birth has them. `run`: see EdgeNodeOptions.
  void AppendBirth(uint16_t run, PayloadWriter* payload);

  // Gives all metrics other aliases if the device was born before in this session: hosts such as
  // Eclipse Tahu refuse an alias that they have.
  void Renumber(uint64_t* next_alias);

  // Forgets all metrics. From now on, the records are lines, so that the birth stays small.
  void CarryLines();
  bool has_only_lines() const { return has_only_lines_; }

  bool is_born() const { return is_born_; }
  // A birth was sent.
  void SetBorn() { is_born_ = true; }
  // A session begins: the device must be born again, and may have the same aliases.
  void Forget() { is_born_ = must_renumber_ = false; }

 private:
  // The birth is not up to date.
  void Change();
  static std::string NameOf(Meaning meaning, std::string_view topic, std::string_view path);
  std::string UniqueName(const std::string& name);

  const std::string id_;
  std::vector<Metric> metrics_;
  std::unordered_map<std::string, size_t> by_place_;
  std::unordered_set<std::string> names_;
  std::string place_;
  bool is_born_ = false;
  bool must_renumber_ = false;
  bool has_only_lines_ = false;
};

// Returns the device id as one level of a topic: the bytes of / + # %, of control characters and of
// noncharacters become % and two hexadecimal digits each.
std::string LevelOf(std::string_view device);

}  // namespace seganet::sparkplug

#endif  // SEGANET_CORE_ENCODING_SPARKPLUG_DEVICE_H_
