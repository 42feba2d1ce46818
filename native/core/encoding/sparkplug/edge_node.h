// The state of a Sparkplug edge node, which is one MQTT session of an uplink: births, sequence
// numbers, and the records as data of devices (Eclipse Sparkplug 3.0).
//
// docs/reference/messages.md describes the metrics for receivers.
#ifndef SEGANET_CORE_ENCODING_SPARKPLUG_EDGE_NODE_H_
#define SEGANET_CORE_ENCODING_SPARKPLUG_EDGE_NODE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/encoding/envelope_line.h"
#include "core/encoding/sparkplug/device.h"
#include "core/encoding/sparkplug/leaves.h"
#include "core/encoding/sparkplug/payload.h"

namespace seganet::sparkplug {

struct EdgeNodeOptions {
  std::string group, node;  // levels of topics, without / + # and NUL
  // Limits of what is known at the same time. Devices that were not used for the longest time die.
  size_t max_devices = 10'000;
  size_t max_metrics = 65'536;  // of all devices
  // Limit of the packet of a device's birth, which large brokers in clouds accept. The records of a
  // device that needs more are carried as lines.
  size_t max_birth_bytes = 65'536;
  // Differs at each start of the process, from 1. The first record of each message has it, so that
  // a receiver does not read aliases of an earlier start with births of this one.
  uint16_t run = 1;
  std::function<int64_t()> now_ms;  // CLOCK_REALTIME; required
};

// Records for one message. The views must be valid during the call.
struct Records {
  // Of a payload, or of lines that are not the engine's.
  std::string_view device, topic;
  std::string_view trace;  // Record::trace
  uint8_t record_class = 0;
  int64_t ts_ms = 0;
  uint32_t seq = 0;
  // `bytes` are lines of NDJSON, otherwise a payload. Lines of other devices than the first one are
  // carried as lines.
  bool has_lines = false;
  std::string_view bytes;
  bool is_history = false;
  std::string_view key;  // for the payload; empty = none
};

// Thread safety: none.
class EdgeNode {
 public:
  // One device may exceed max_metrics. REQUIRES: max_devices > 0.
  explicit EdgeNode(EdgeNodeOptions options);

  // A session begins: the node and its devices must be born. `bd_seq` is that of the will.
  // `max_packet`: the broker's Maximum Packet Size [MQTT-3.2.2-15], 0 = unknown.
  void Begin(uint8_t bd_seq, bool is_v5, size_t max_packet = 0);
  // A host wants all births again.
  void Rebirth();

  // Makes the data of the records. It may be called again without Commit(), for other records, too.
  void Prepare(const Records& records);
  // Return what was prepared: the level of the device in the topic; the payload of the DDATA; and
  // the packets that must be sent before it, births and deaths.
  std::string_view device() const { return prepared_->id(); }
  std::string_view payload() const { return payload_; }
  std::string_view before() const { return before_; }
  // The prepared packets were sent. REQUIRES: Prepare(), and nothing else since.
  void Commit();

  // Appends the packet of a birth that was not sent yet, of the node or a device. Returns false if
  // there is none. Nothing is prepared then.
  bool AppendBirth(std::string* out);

  // Returns the payload of the death of the node, for a will.
  std::string Death(uint8_t bd_seq) const;
  // Returns the topic without the level of the device: spBv1.0/<group>/<type>/<node>.
  std::string TopicOf(std::string_view type) const;

  size_t devices() const { return devices_.size(); }
  size_t metrics() const { return metrics_; }

 private:
  enum class Source : uint8_t { kJson, kBytes, kText };
  // A value that was found in a record.
  struct Item {
    size_t metric;
    std::string_view text;  // kJson, kText
    size_t at, size;        // kBytes: in raw_
    Source source;
  };
  struct Entry {
    uint64_t number = 0;  // sequence number and class
    int64_t ts_ms = 0;
    size_t items_end = 0;
    std::string trace;
  };
  using DeviceList = std::list<Device>;

  bool TryPrepare(const Records& records);
  void TakeDevice(std::string_view id);
  void Evict();
  bool ReadLines(const Records& records);
  bool AddLine(const EnvelopeLine& line, std::string_view text, bool is_own);
  void AddSingle(const Records& records, bool is_whole);
  static bool IsUsable(std::string_view topic);
  bool AddValues(std::string_view topic);
  bool AddBytes(std::string_view topic, size_t at);
  void AddText(std::string_view line);
  void Close(uint32_t seq, uint8_t record_class, int64_t ts_ms, std::string_view trace);
  size_t Take(Meaning meaning, std::string_view topic, std::string_view path, ValueType type);
  void MakePayload(const Records& records, uint8_t seq);
  Value ValueOf(const Item& item);
  void AddMetric(size_t index, const Value& value, int64_t ts_ms, bool is_history);
  void AppendNodeBirth(std::string* out);
  bool AppendDeviceBirth(Device* device, uint8_t seq, std::string* out);
  void AppendPublish(std::string_view type, std::string_view device, std::string* out);

  const EdgeNodeOptions options_;
  size_t max_birth_bytes_;
  bool is_v5_ = false;
  uint8_t bd_seq_ = 0;
  uint8_t seq_ = 0;  // of the next message
  bool is_born_ = false;
  uint64_t next_alias_ = 1;
  size_t metrics_ = 0;

  DeviceList devices_;  // the most recently used first
  std::unordered_map<std::string, DeviceList::iterator> by_id_;
  std::deque<std::string> unborn_;   // devices that may have to be born again
  std::vector<std::string> deaths_;  // devices whose death was not sent yet

  // Of the last Prepare().
  Device* prepared_ = nullptr;
  uint8_t prepared_seq_ = 0;
  std::vector<Item> items_;
  std::vector<Entry> entries_;
  std::string raw_, payload_, before_;

  LeafReader leaves_;
  PayloadWriter writer_;
  std::string body_, topic_, text_, line_, trace_;
};

}  // namespace seganet::sparkplug

#endif  // SEGANET_CORE_ENCODING_SPARKPLUG_EDGE_NODE_H_
