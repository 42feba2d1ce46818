// The last value of each topic of a worker's devices, and a line of its numbers over the last hour:
// for the status page and for local subscribers, which read what a device has sent last.
#ifndef SEGANET_CORE_DEVICES_LAST_VALUES_H_
#define SEGANET_CORE_DEVICES_LAST_VALUES_H_

#include <array>
#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/counters.h"
#include "core/loop/memory_share.h"
#include "core/record/record.h"

namespace seganet {

struct Device;
class DeviceValues;
class LastValues;

// Of a longer payload only the size is kept. Records with a longer topic are left out.
inline constexpr size_t kMostValueBytes = 1024;
inline constexpr size_t kMostValueTopicBytes = 1024;
inline constexpr size_t kLinePoints = 60;  // one a minute
inline constexpr uint32_t kMostValueTopics = 1024;
inline constexpr size_t kMostNotKept = 64;

// Numbers of the last hour, one a minute, oldest first; NaN = none.
using ValueLine = std::array<float, kLinePoints>;

struct LastValuesOptions {
  // Of the whole engine, MiB, 0..1024; 0 = no values are kept.
  uint32_t memory_mib = 0;
  // Topics of one device, 1..kMostValueTopics. One more evicts the one that was renewed least
  // recently.
  uint32_t topics = 256;
  // Filters of topics that are not kept, at most kMostNotKept. REQUIRES: ValidTopicFilter.
  std::vector<std::string> not_kept;
};

// What the workers of an engine share. Thread safety: any thread; memory.SetLimit before the
// others.
struct SharedValues {
  static constexpr size_t kMostWorkers = 64;
  SharedValues() {
    for (auto& oldest : oldest_us) oldest.store(kNever, std::memory_order_relaxed);
  }
  MemoryShare memory;
  std::atomic<int64_t> kept{0};
  // By worker: when its value that was renewed least recently was renewed; kNever = it has none.
  std::array<std::atomic<int64_t>, kMostWorkers> oldest_us;
};

// The latest record of one topic of one device.
struct LastValue {
  std::string topic;
  std::string payload;  // empty if it was longer than kMostValueBytes
  uint32_t size = 0;    // of the payload as it was sent
  uint32_t seq = 0;
  int64_t ts_ms = 0;  // Record::ts_ms
  uint8_t record_class = 0;
  bool restored = false;   // it is of an earlier run
  int64_t changed_us = 0;  // when it was renewed, CLOCK_MONOTONIC
  int64_t minute = 0;      // of changed_us
  // Ring of minutes; the latest is `minute`. Null = no record had a number.
  std::unique_ptr<ValueLine> ring;

  // Returns the line that ends now.
  ValueLine LineAt(int64_t now_us) const;

  // For LastValues.
  DeviceValues* of = nullptr;
  LastValue* older = nullptr;
  LastValue* newer = nullptr;
  int64_t queued_us = 0;  // changed_us when it took its place in the list
  uint32_t hash = 0;      // of the topic
  uint32_t bytes = 0;     // that are counted
};

// Names a value. Values are in the order of their keys, by bytes.
struct ValueKey {
  std::string device;  // empty = before all
  std::string topic;

  auto operator<=>(const ValueKey&) const = default;  // NOLINT: clang-tidy 14 sees a literal 0 here
};

struct ValueQuery {
  ValueKey after{};
  std::string device = {};  // empty = all
  std::string filter = {};  // topic filter; empty = all. REQUIRES: empty or ValidTopicFilter
  // Text in the device, the topic or the payload, without regard to the case of ASCII letters.
  std::string search = {};
  size_t limit = 100;  // rows
};

// A copy of a value.
struct ValueRow {
  std::string device;
  std::string topic;
  std::string payload;
  uint32_t size = 0;
  uint32_t seq = 0;
  int64_t ts_ms = 0;
  uint8_t record_class = 0;
  bool restored = false;
  bool has_line = false;
  int64_t changed_us = 0;
  ValueLine line{};

  auto key() const { return std::tie(device, topic); }
};

struct ValuePage {
  std::vector<ValueRow> rows;
  // False: more values may match. Ask again: by key, those after `reached`.
  bool is_complete = true;
  ValueKey reached{};
  // Changes of this worker after the reading are later than this.
  int64_t at_us = 0;
};

// What the topics that begin with a prefix have at the level behind it.
struct TopicLevel {
  uint32_t values = 0;  // at this level and below
  bool has_children = false;
  int64_t ts_ms = 0;  // of the latest value
};

struct TopicLevels {
  std::map<std::string, TopicLevel, std::less<>> levels;
  bool is_complete = true;
  ValueKey reached{};
};

// The values of one device. They belong to its row and move with it.
class DeviceValues {
 public:
  ~DeviceValues();

 private:
  friend class LastValues;
  DeviceValues(Device* device, SharedValues* shared) : device_(device), shared_(shared) {}

  Device* const device_;
  SharedValues* const shared_;
  LastValues* home_ = nullptr;  // null: on the way to another worker
  // The hashes lie together, because each record searches them.
  std::vector<uint32_t> hashes_;
  std::vector<std::unique_ptr<LastValue>> values_;  // same index
};

// Keep allocates nothing for a known topic whose payload fits the memory of an earlier one. A
// reading looks at kMostExamined values at most, so that it delays no record for long.
//
// Thread safety: owned by one worker.
class LastValues {
 public:
  // A search counts for kSearchCost values.
  static constexpr size_t kMostExamined = 4096;
  static constexpr size_t kSearchCost = 8;

  // `shared` and `counters` outlive it; it outlives the rows of the worker's devices.
  LastValues(LastValuesOptions options, uint32_t worker, SharedValues* shared,
             CounterBlock* counters);
  LastValues(const LastValues&) = delete;
  LastValues& operator=(const LastValues&) = delete;

  // A record of the device has entered; record.record_class is its final class. The only place that
  // sees the records of all sources.
  void Keep(Device* device, const Record& record) {
    if (options_.memory_mib != 0) Renew(device, record);
  }

  // The row leaves the worker, or has come from another one, with the rows behind it.
  void Leave(Device* device);
  void Enter(Device* device);

  // Evicts the values that were renewed least recently of all workers before memory is full. To be
  // called regularly.
  void Sweep();

  // Readers get one value for each key, that of the row that was renewed last.
  //
  // Returns the first query.limit values that match and come after query.after.
  ValuePage Page(const ValueQuery& query, int64_t now_us);
  // Returns the latest query.limit values that match and were renewed after `since_us`. query.after
  // has no effect.
  ValuePage Changed(const ValueQuery& query, int64_t since_us, int64_t now_us);
  // Returns the level behind `prefix`, which is empty or ends with a slash.
  TopicLevels Levels(std::string_view prefix, const ValueKey& after);
  // Calls see(device, value) for at most `limit` values whose topic matches `filter`, in the order
  // of keys after `*after`, and sets `*after` to the last key that was looked at. Returns true if
  // there are no more; otherwise call it again, in a later turn, for the next portion.
  // REQUIRES: ValidTopicFilter(filter).
  bool ForEachMatching(std::string_view filter, size_t limit, ValueKey* after,
                       const std::function<void(const Device&, const LastValue&)>& see);

  // Appends rows (value_rows.h) of the values after `*after`, and sets `*after` to the last key.
  // Returns true if there are no more.
  bool Save(ValueKey* after, const Now& now, std::string* rows);
  // Adds a value of an earlier run as the oldest one, unless the device has a value of the topic.
  // Returns false, and adds nothing, if memory is full.
  bool Restore(Device* device, const ValueRow& row, int64_t now_us);

 private:
  friend class DeviceValues;
  using See = std::function<bool(const Device&, const LastValue&)>;

  void Renew(Device* device, const Record& record);
  LastValue* Find(const Device& device, uint32_t hash, std::string_view topic) const;
  LastValue* Add(Device* device, uint32_t hash, std::string_view topic);
  void Erase(LastValue* value);
  void Evict(LastValue* value);
  void Account(LastValue* value);
  void MakeRoom(const LastValue* besides);
  void PushNewest(LastValue* value);
  void PushOldest(LastValue* value);
  void Unlink(LastValue* value);
  bool Walk(const ValueQuery& query, ValueKey* reached, const See& see);

  const LastValuesOptions options_;
  const uint32_t worker_;
  SharedValues* const shared_;
  CounterBlock* const counters_;
  // A list in the order of queued_us. A value that is renewed more often than once a second moves
  // once a second.
  LastValue* oldest_ = nullptr;
  LastValue* newest_ = nullptr;
  int64_t read_us_ = 0;  // of the latest call of Changed
  // Of all rows with values: one id may have several, its own and those behind bridges. The ids
  // point into the rows.
  std::set<std::pair<std::string_view, DeviceValues*>> devices_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_LAST_VALUES_H_
