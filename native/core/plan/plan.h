// The plan: the compiled form of the wires between SegaNet nodes. JavaScript makes stage
// specifications from the canvas; the engine checks them and makes an immutable Plan, which all
// workers share.
#ifndef SEGANET_CORE_PLAN_PLAN_H_
#define SEGANET_CORE_PLAN_PLAN_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/counters.h"
#include "core/base/status.h"
#include "core/forecast/forecasts.h"
#include "core/plan/filter.h"
#include "core/plan/split.h"
#include "core/queue/batcher.h"
#include "core/queue/lanes.h"
#include "core/record/device_classes.h"
#include "core/record/rules.h"

namespace seganet {

enum class StageKind : uint8_t {
  kSource,
  kIngest,
  kPriority,
  kBatch,
  kUplink,
  kTap,
  kFilter,
  kSplit,
  kForecast
};

// Protocol of the devices of a source; kPushed: JavaScript pushes their records.
enum class Protocol : uint8_t { kMqtt, kCoap, kPushed };

// Topic filters for devices with a matching id. `{device}` in a filter stands for the device's id;
// such a filter allows nothing for an id with +, # or /.
struct Permission {
  std::string device;  // id or glob, as in Rule
  std::vector<std::string> publish;
  std::vector<std::string> subscribe;
  bool operator==(const Permission&) const = default;
};

// Where a message of a bridge, a client that speaks for many devices, names its device. Exactly one
// of `topic` and `member` is not empty.
struct BridgeRow {
  std::string bridge;  // its device id, or a glob, as in Rule
  std::string topic;   // topic filter with {device} as one level, which is the id
  std::string member;  // path in a JSON payload (record/condition.h) to a string or a number
  bool operator==(const BridgeRow&) const = default;
};

// A client that may read the records of all devices of the engine.
struct SubscriberRow {
  std::string client;                // device id or glob, as in Rule
  std::vector<std::string> filters;  // topic filters that its subscriptions must stay within
  bool operator==(const SubscriberRow&) const = default;
};

// How a source handles its devices.
struct SourceSettings {
  Protocol protocol = Protocol::kMqtt;
  // Name of the source in saved sessions of its devices, 0..kMaxStageName bytes; empty = they are
  // not saved.
  std::string name;
  // Records per second of one device, 0 = no limit. MQTT packets without a record count too. Above
  // the limit, an MQTT device is not read for a while and a CoAP device gets 4.29. 0..1,000,000.
  uint32_t rate = 0;
  // Records that a device may send at once, 0 = as many as in a second. 0..1,000,000.
  uint32_t burst = 0;
  // True: a record that leaves as a message is acknowledged when the flow has delivered it
  // (DeferredReceipts). False: when JavaScript has the message.
  bool delivered = false;
  // Topic of the records that report when a device connects or disconnects; empty = none. {device}
  // stands for its id. At most 1,024 bytes, no wildcards.
  std::string presence_topic;
  // MQTT 5 user property, or CoAP query parameter, in which a device may name the class of a record
  // (record/class_name.h); empty = none.
  std::string class_property = "priority";
  // The first row with a matching device applies. Without rows, everything is allowed.
  std::vector<Permission> permissions;
  // MQTT: of the rows whose bridge matches, the first that finds an id in a message applies
  // (plan/bridges.h). A message in which none does is the bridge's own.
  std::vector<BridgeRow> bridges;
  // MQTT: local subscribers. The first row with a matching client applies.
  std::vector<SubscriberRow> subscribers;

  // True: each device id of the source begins with a part (record/part.h), and a device without one
  // is refused. In `presence_topic` and in filters of `permissions`, {device} is then the name
  // without the part; rows of devices, permissions and bridges match the whole id. A device behind
  // a bridge gets the bridge's part.
  bool parted = false;
  // The part of devices that prove no id on their connection; empty = they are refused. If it is
  // not empty, `parted` must be true.
  std::string part;

  // MQTT 5: unacknowledged QoS 1 and 2 packets of a device, 1..65535.
  uint32_t receive_maximum = 1024;
  // MQTT 5: 0..1024.
  uint32_t topic_alias_maximum = 16;
  // MQTT: longest keep-alive, 0 = the device's own, 0..65535.
  uint32_t keep_alive_max_s = 0;
  // MQTT: longest time that the session of a disconnected device is kept, 0..604800.
  uint32_t session_expiry_max_s = 3600;

  // CoAP: devices post records to /{path}/{device}/{topic}. 1..128 bytes.
  std::string path = "r";
  // CoAP: devices observe commands at /{command_path}/{device}. 1..128 bytes.
  std::string command_path = "cmd";
  // CoAP: largest block-wise upload, 1024..16777216.
  uint32_t max_body_bytes = 262'144;
  bool operator==(const SourceSettings&) const = default;
};

// Returns the name that a device of the source has in topics and CoAP paths.
inline std::string_view NameAt(const SourceSettings& source, std::string_view id) {
  return source.parted ? NameInPart(id) : id;
}

// Limits of SourceSettings::permissions: rows, and filters of a row per direction.
inline constexpr size_t kMaxPermissions = 1024;
inline constexpr size_t kMaxPermissionFilters = 64;
// Limits of SourceSettings::subscribers: rows, and filters of a row.
inline constexpr size_t kMaxSubscriberRows = 64;
inline constexpr size_t kMaxSubscriberFilters = 64;

// Specification of one node of the data path. Only the members of its kind apply.
struct StageSpec {
  uint32_t id = 0;  // not 0; the caller keeps it while the node exists
  StageKind kind = StageKind::kSource;
  std::vector<uint32_t> next;        // stages that get its output
  bool messages = false;             // JavaScript gets its output as messages, too
  std::vector<DeviceClass> devices;  // source: registered devices
  SourceSettings source;             // source
  std::vector<Rule> rules;           // priority
  uint8_t default_class = 0;         // priority: class if no rule matches, 0 = the record's
  BatcherOptions batcher;            // batch
  uint32_t uplink = 0;               // uplink: number of its lanes
  std::string name;              // uplink: key of its batches in the log, 0..kMaxStageName bytes
  bool stamps = false;           // uplink: its records carry their own time and number, 12 bytes
  uint32_t every_n = 0;          // tap: passes every n-th record, 0 and 1 = all
  uint32_t per_second = 0;       // tap: passes at most this many per second, 0 = no limit
  FilterOptions filter;          // filter
  ForecastOptions forecast;      // forecast
  std::vector<SplitPart> parts;  // split: one for each stage of `next`
};

// A split with kMaxParts parts has a batch and an uplink stage for each of them.
inline constexpr size_t kMaxStages = 4096;
inline constexpr size_t kMaxStageName = 64;
// Maximum number of stages that one record runs through, on all of its routes together. The number
// multiplies where routes split and join.
inline constexpr size_t kMaxVisits = 1024;

// Checks that ids are unique, that `next` has only existing stages that accept records, that there
// are no cycles, that a batch stage feeds only uplinks, and that rules and options are valid.
Status ValidatePlan(const std::vector<StageSpec>& stages);

// Counters of one stage on one worker.
struct alignas(64) StageCounters {
  SingleWriter records_in;
  SingleWriter records_out;
  SingleWriter batches;
  SingleWriter copies_dropped;
  SingleWriter filtered;  // records that a filter stage left out
};

// The state of a stage that survives a change of plan: its counters, one set per worker, what its
// batches wait, and the tap's current second.
struct StageShared {
  explicit StageShared(size_t workers) : counters(workers) {}
  std::vector<StageCounters> counters;
  Batcher::Waits waits{};  // batch
  std::atomic<int64_t> tap_second{0};
  std::atomic<uint32_t> tap_passed{0};
};

// A stage of a plan.
struct Stage {
  StageSpec spec;
  size_t index = 0;  // in Plan::stages()
  std::vector<const Stage*> next;
  // True if a record counts as taken once JavaScript got its message. False for a tap that passes
  // only some records.
  bool takes_messages = false;
  // True if a record that enters this stage reaches an uplink, or a stage that takes messages.
  bool takes = false;
  std::shared_ptr<StageShared> shared;
  std::shared_ptr<Lanes> lanes;  // uplink
  // Source: moved from spec.devices; null if there are none. Successive plans share the object
  // while the register is unchanged.
  std::shared_ptr<const DeviceClasses> devices;
  Classifier classifier;               // priority: made from spec.rules
  std::unique_ptr<const Split> split;  // split: made from spec.parts and next
  // Forecast. Successive plans share the object while the model is unchanged.
  std::shared_ptr<Forecasts> forecasts;
};

// Thread safety: immutable after construction.
class Plan {
 public:
  using LanesOf = std::function<std::shared_ptr<Lanes>(uint32_t uplink)>;
  using StoredOf = std::function<BytesOnDisk(const std::string& name)>;

  // Makes a plan for this many workers. Stages that `before` (may be null) has too keep their
  // counters. `lanes_of` returns the lanes of an uplink. `stored_of` returns the bytes that only
  // the log holds of an uplink stage with this name; empty = there is no log. REQUIRES:
  // ValidatePlan(specs).ok().
  Plan(std::vector<StageSpec> specs, size_t workers, const Plan* before, const LanesOf& lanes_of,
       const StoredOf& stored_of = {});
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const std::vector<Stage>& stages() const { return stages_; }
  // Returns the stage with this id, null = none.
  const Stage* Find(uint32_t id) const;

  // Returns the registered devices of source stage `id`, null = none.
  std::shared_ptr<const DeviceClasses> DevicesOf(uint32_t id) const;

  // Returns the settings of source stage `id`, or the defaults if there is no such stage. The
  // reference is valid as long as the plan.
  const SourceSettings& SettingsOf(uint32_t id) const;

  // True if the output of a stage goes only to JavaScript, so that a slow Node-RED must slow the
  // devices.
  bool message_only() const { return message_only_; }

 private:
  static bool FindTakers(Stage* stage, std::vector<bool>* seen);
  static void FindHoldings(const Stage& stage, const StoredOf& stored_of, Holdings* holdings);

  std::vector<Stage> stages_;
  std::unordered_map<uint32_t, const Stage*> by_id_;
  bool message_only_ = false;
};

}  // namespace seganet

#endif  // SEGANET_CORE_PLAN_PLAN_H_
