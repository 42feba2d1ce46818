#include "core/plan/plan.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/require.h"
#include "core/plan/bridges.h"
#include "core/plan/permissions.h"

namespace seganet {
namespace {

using ById = std::unordered_map<uint32_t, const StageSpec*>;

std::string Name(const StageSpec& spec) { return "stage " + std::to_string(spec.id); }

// [MQTT-3.3.2-2] A topic name has no wildcards.
Status ValidateSource(const StageSpec& spec) {
  if (spec.source.presence_topic.find_first_of(std::string_view("+#\0", 3)) != std::string::npos) {
    return Status::InvalidArgument(Name(spec) + ": presence topic '" + spec.source.presence_topic +
                                   "' has a wildcard");
  }
  const std::string& part = spec.source.part;
  if (!part.empty() && !(spec.source.parted && ValidPart(part))) {
    return Status::InvalidArgument(Name(spec) + ": part '" + part +
                                   "' must be 1 to 64 bytes without ':', and needs parted");
  }
  if (!spec.source.bridges.empty() && spec.source.protocol != Protocol::kMqtt) {
    return Status::InvalidArgument(Name(spec) + ": bridges need the protocol mqtt");
  }
  if (Status status = ValidateBridges(spec.source.bridges); !status.ok()) return status;
  const Status status = ValidatePermissions(spec.source.permissions);
  return status.ok() ? ValidateSubscribers(spec.source.subscribers) : status;
}

Status ValidateStage(const StageSpec& spec, const ById& by_id) {
  for (uint32_t id : spec.next) {
    if (std::count(spec.next.begin(), spec.next.end(), id) > 1) {
      return Status::InvalidArgument(Name(spec) + ": stage " + std::to_string(id) +
                                     " is named twice");
    }
    const auto it = by_id.find(id);
    if (it == by_id.end()) {
      return Status::InvalidArgument(Name(spec) + ": no stage " + std::to_string(id));
    }
    const StageKind target = it->second->kind;
    if (target == StageKind::kSource || target == StageKind::kIngest) {
      return Status::InvalidArgument(Name(spec) + ": stage " + std::to_string(id) +
                                     " takes no records from other stages");
    }
    if (spec.kind == StageKind::kBatch && target != StageKind::kUplink) {
      return Status::InvalidArgument(Name(spec) + ": a batch can only go to an uplink");
    }
  }
  if (spec.kind == StageKind::kUplink && (!spec.next.empty() || spec.messages)) {
    return Status::InvalidArgument(Name(spec) + ": an uplink has no output");
  }
  if (spec.kind == StageKind::kPriority) {
    if (spec.default_class != 0 && !ValidClass(spec.default_class)) {
      return Status::InvalidArgument(Name(spec) + ": default class must be 0 to " +
                                     std::to_string(kClasses));
    }
    return ValidateRules(spec.rules);
  }
  if (spec.kind == StageKind::kSource) {
    if (Status status = ValidateDeviceClasses(spec.devices); !status.ok()) return status;
    return ValidateSource(spec);
  }
  if (spec.kind == StageKind::kFilter) {
    const Status status = Validate(spec.filter);
    return status.ok() ? status : Status::InvalidArgument(Name(spec) + ": " + status.message());
  }
  if (spec.kind == StageKind::kForecast) {
    const Status status = Validate(spec.forecast);
    return status.ok() ? status : Status::InvalidArgument(Name(spec) + ": " + status.message());
  }
  if (spec.kind == StageKind::kSplit) {
    if (spec.messages) return Status::InvalidArgument(Name(spec) + ": a split has no messages");
    if (spec.parts.size() != spec.next.size()) {
      return Status::InvalidArgument(Name(spec) + ": parts and next must have the same length");
    }
    const Status status = ValidateParts(spec.parts);
    return status.ok() ? status : Status::InvalidArgument(Name(spec) + ": " + status.message());
  }
  return spec.kind == StageKind::kBatch ? Validate(spec.batcher) : Status();
}

// True if the wires from `spec` form a cycle. Depth-first search; `state` 1 = on the path, 2 =
// done.
bool HasCycle(const StageSpec& spec, const ById& by_id, std::unordered_map<uint32_t, int>* state) {
  int& mine = (*state)[spec.id];
  if (mine != 0) return mine == 1;
  mine = 1;
  for (uint32_t id : spec.next) {
    if (HasCycle(*by_id.at(id), by_id, state)) return true;
  }
  (*state)[spec.id] = 2;
  return false;
}

// Returns the largest number of stages that one record put into `spec` runs through, at most
// kMaxVisits
// + 1. REQUIRES: there are no cycles.
size_t Visits(const StageSpec& spec, const ById& by_id,
              std::unordered_map<uint32_t, size_t>* known) {
  if (const auto it = known->find(spec.id); it != known->end()) return it->second;
  size_t visits = 1;
  for (uint32_t id : spec.next) {
    const size_t more = Visits(*by_id.at(id), by_id, known);
    // A split passes a record to one stage only.
    visits = spec.kind == StageKind::kSplit ? std::max(visits, more + 1) : visits + more;
    visits = std::min(visits, kMaxVisits + 1);
  }
  return (*known)[spec.id] = visits;
}

// Returns what a forecast stage has learned, or nothing learned if the model has changed.
std::shared_ptr<Forecasts> LearnedOf(const ForecastOptions& options, size_t workers,
                                     const Stage* old) {
  const bool is_same = old != nullptr && old->forecasts && old->spec.forecast.SameModel(options);
  return is_same ? old->forecasts : std::make_shared<Forecasts>(options, workers);
}

// Returns the register of a source. Reuses that of the old stage if it is equal.
std::shared_ptr<const DeviceClasses> Register(std::vector<DeviceClass> devices, const Stage* old) {
  if (devices.empty()) return nullptr;
  if (old != nullptr && old->devices && old->devices->rows() == devices) return old->devices;
  return std::make_shared<const DeviceClasses>(std::move(devices));
}

}  // namespace

Status ValidatePlan(const std::vector<StageSpec>& stages) {
  if (stages.size() > kMaxStages) {
    return Status::InvalidArgument("more than " + std::to_string(kMaxStages) + " stages");
  }
  ById by_id;
  for (const StageSpec& spec : stages) {
    if (spec.id == 0 || !by_id.emplace(spec.id, &spec).second) {
      return Status::InvalidArgument(Name(spec) + ": ids must be unique and not 0");
    }
  }
  for (const StageSpec& spec : stages) {
    if (Status status = ValidateStage(spec, by_id); !status.ok()) return status;
  }
  std::unordered_map<uint32_t, int> state;
  for (const StageSpec& spec : stages) {
    if (HasCycle(spec, by_id, &state)) {
      return Status::InvalidArgument(Name(spec) + ": its wires lead back to it");
    }
  }
  std::unordered_map<uint32_t, size_t> visits;
  for (const StageSpec& spec : stages) {
    if (Visits(spec, by_id, &visits) > kMaxVisits) {
      return Status::InvalidArgument(Name(spec) + ": a record would run through more than " +
                                     std::to_string(kMaxVisits) + " stages");
    }
  }
  return {};
}

Plan::Plan(std::vector<StageSpec> specs, size_t workers, const Plan* before,
           const LanesOf& lanes_of, const StoredOf& stored_of)
    : stages_(specs.size()) {
  SEGANET_REQUIRE(ValidatePlan(specs).ok());
  for (size_t i = 0; i < specs.size(); ++i) {
    Stage& stage = stages_[i];
    stage.spec = std::move(specs[i]);
    stage.index = i;
    const Stage* old = before == nullptr ? nullptr : before->Find(stage.spec.id);
    stage.shared = old != nullptr ? old->shared : std::make_shared<StageShared>(workers);
    if (stage.spec.kind == StageKind::kUplink) stage.lanes = lanes_of(stage.spec.uplink);
    if (stage.spec.kind == StageKind::kForecast) {
      stage.forecasts = LearnedOf(stage.spec.forecast, workers, old);
    }
    stage.devices = Register(std::move(stage.spec.devices), old);
    stage.classifier = Classifier(std::move(stage.spec.rules), stage.spec.default_class);
    by_id_.emplace(stage.spec.id, &stage);
    message_only_ = message_only_ || (stage.spec.messages && stage.spec.next.empty() &&
                                      stage.spec.kind != StageKind::kTap);
  }
  for (Stage& stage : stages_) {
    for (uint32_t id : stage.spec.next) stage.next.push_back(by_id_.at(id));
  }
  std::vector<bool> seen(stages_.size());
  for (Stage& stage : stages_) FindTakers(&stage, &seen);
  for (Stage& stage : stages_) {
    if (stage.spec.kind != StageKind::kSplit) continue;
    std::vector<Holdings> holdings(stage.next.size());
    for (size_t i = 0; i < stage.next.size(); ++i) {
      FindHoldings(*stage.next[i], stored_of, &holdings[i]);
    }
    const Stage* old = before == nullptr ? nullptr : before->Find(stage.spec.id);
    stage.split = std::make_unique<const Split>(stage.spec.parts, std::move(holdings),
                                                old == nullptr ? nullptr : old->split.get());
  }
}

// Adds what waits for the uplinks that a stage leads to. REQUIRES: there are no cycles.
void Plan::FindHoldings(const Stage& stage, const StoredOf& stored_of, Holdings* holdings) {
  if (stage.lanes != nullptr) holdings->AddLanes(stage.lanes);
  if (stage.spec.kind == StageKind::kUplink && stored_of && !stage.spec.name.empty()) {
    holdings->AddStored(stored_of(stage.spec.name));
  }
  for (const Stage* next : stage.next) FindHoldings(*next, stored_of, holdings);
}

// Sets `takes` of a stage and of all stages behind it. REQUIRES: there are no cycles.
bool Plan::FindTakers(Stage* stage, std::vector<bool>* seen) {
  if ((*seen)[stage->index]) return stage->takes;
  (*seen)[stage->index] = true;
  const StageSpec& spec = stage->spec;
  const bool only_looks = spec.kind == StageKind::kTap && (spec.every_n > 1 || spec.per_second > 0);
  stage->takes_messages = spec.messages && !only_looks;
  stage->takes = spec.kind == StageKind::kUplink || stage->takes_messages;
  for (const Stage* next : stage->next) {
    // The const_cast is safe: the stages belong to this plan.
    if (FindTakers(const_cast<Stage*>(next), seen)) stage->takes = true;
  }
  return stage->takes;
}

const Stage* Plan::Find(uint32_t id) const {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : it->second;
}

const SourceSettings& Plan::SettingsOf(uint32_t id) const {
  static const SourceSettings kDefaults;
  const Stage* stage = Find(id);
  return stage == nullptr ? kDefaults : stage->spec.source;
}

std::shared_ptr<const DeviceClasses> Plan::DevicesOf(uint32_t id) const {
  const Stage* stage = Find(id);
  return stage == nullptr ? nullptr : stage->devices;
}

}  // namespace seganet
