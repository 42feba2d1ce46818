// The plan: what the wires between SegaNet nodes compile to. JavaScript makes a PlanSpec from the
// canvas; the engine checks it and makes an immutable Plan of it, which all workers share.
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
#include "core/queue/batcher.h"
#include "core/queue/lanes.h"
#include "core/record/device_classes.h"
#include "core/record/rules.h"

namespace seganet {

enum class StageKind : uint8_t { kSource, kIngest, kPriority, kBatch, kUplink, kTap };

// What the devices of a source speak; kPushed: JavaScript brings their records.
enum class Protocol : uint8_t { kMqtt, kCoap, kPushed };

// What devices whose id matches may do. `{device}` in a filter stands for the device's id.
struct Permission {
  std::string device;  // id or glob, as in Rule
  std::vector<std::string> publish;
  std::vector<std::string> subscribe;
  bool operator==(const Permission&) const = default;
};

// How a source treats its devices. Meanings and ranges: native/index.d.ts, SourceSettings.
struct SourceSettings {
  Protocol protocol = Protocol::kMqtt;
  uint32_t rate = 0;
  uint32_t burst = 0;
  std::string presence_topic;
  std::string class_property = "priority";
  std::vector<Permission> permissions;
  // MQTT
  uint32_t receive_maximum = 1024;
  uint32_t topic_alias_maximum = 16;
  uint32_t keep_alive_max_s = 0;
  uint32_t session_expiry_max_s = 3600;
  // CoAP
  std::string path = "r";
  std::string command_path = "cmd";
  uint32_t max_body_bytes = 262'144;
  bool operator==(const SourceSettings&) const = default;
};

inline constexpr size_t kMaxPermissions = 1024;
inline constexpr size_t kMaxPermissionFilters = 64;

// One node of the data path. Only the members of its kind count. Meanings: native/index.d.ts,
// StageSpec.
struct StageSpec {
  uint32_t id = 0;  // not 0
  StageKind kind = StageKind::kSource;
  std::vector<uint32_t> next;        // stages that get its output
  bool messages = false;             // its output goes to JavaScript as well
  std::vector<DeviceClass> devices;  // source: registered devices
  SourceSettings source;
  std::vector<Rule> rules;  // priority
  uint8_t default_class = 0;
  BatcherOptions batcher;  // batch
  uint32_t uplink = 0;     // uplink: number of its lanes
  std::string name;        // uplink: under which the log keeps its batches, 0..64 bytes
  uint32_t every_n = 0;    // tap
  uint32_t per_second = 0;
};

inline constexpr size_t kMaxStages = 1024;
inline constexpr size_t kMaxStageName = 64;
// Stages that one record may run through on all its ways: diamonds multiply.
inline constexpr size_t kMaxVisits = 1024;

// Ids are unique, `next` names stages that exist and take records, nothing runs in a circle, a
// batch feeds uplinks only, rules and batch options are valid.
Status ValidatePlan(const std::vector<StageSpec>& stages);

// Counters of one stage on one worker.
struct alignas(64) StageCounters {
  SingleWriter records_in;
  SingleWriter records_out;
  SingleWriter batches;
  SingleWriter copies_dropped;
};

// What outlives a change of plan for a stage: its counters, one set a worker, and the tap's current
// second.
struct StageShared {
  explicit StageShared(size_t workers) : counters(workers) {}
  std::vector<StageCounters> counters;
  std::atomic<int64_t> tap_second{0};
  std::atomic<uint32_t> tap_passed{0};
};

struct Stage {
  StageSpec spec;
  size_t index = 0;  // in Plan::stages()
  std::vector<const Stage*> next;
  // A record that is put in reaches an uplink or JavaScript.
  bool takes = false;
  std::shared_ptr<StageShared> shared;
  std::shared_ptr<Lanes> lanes;  // uplink
  // Source: spec.devices, which moves here; null when there are none. The same object as long as
  // the register stays the same.
  std::shared_ptr<const DeviceClasses> devices;
};

// Thread safety: immutable after construction.
class Plan {
 public:
  using LanesOf = std::function<std::shared_ptr<Lanes>(uint32_t uplink)>;

  // Takes over the counters of stages that `before` (may be null) has too. REQUIRES:
  // ValidatePlan(specs).ok().
  Plan(std::vector<StageSpec> specs, size_t workers, const Plan* before, const LanesOf& lanes_of);
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const std::vector<Stage>& stages() const { return stages_; }
  const Stage* Find(uint32_t id) const;

  // Registered devices of source stage `id`, null = none.
  std::shared_ptr<const DeviceClasses> DevicesOf(uint32_t id) const;

  // How source stage `id` treats its devices; the defaults when there is no such stage. The
  // reference is good as long as the plan is.
  const SourceSettings& SettingsOf(uint32_t id) const;

  // Some stage gives its output to JavaScript alone, so that a slow Node-RED has to slow the
  // devices.
  bool message_only() const { return message_only_; }

 private:
  static bool FindTakers(Stage* stage, std::vector<bool>* seen);

  std::vector<Stage> stages_;
  std::unordered_map<uint32_t, const Stage*> by_id_;
  bool message_only_ = false;
};

}  // namespace seganet

#endif  // SEGANET_CORE_PLAN_PLAN_H_
