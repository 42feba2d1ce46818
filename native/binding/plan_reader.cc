#include "binding/plan_reader.h"

#include <string>
#include <utility>

#include "binding/node/args.h"
#include "core/plan/bridges.h"

namespace seganet::binding {
namespace {

constexpr uint32_t kMaxStageId = UINT32_MAX;

bool ReadKind(Napi::Env env, Napi::Value value, StageKind* kind) {
  static constexpr std::pair<const char*, StageKind> kKinds[] = {
      {"source", StageKind::kSource},     {"ingest", StageKind::kIngest},
      {"priority", StageKind::kPriority}, {"batch", StageKind::kBatch},
      {"uplink", StageKind::kUplink},     {"tap", StageKind::kTap},
      {"filter", StageKind::kFilter},     {"split", StageKind::kSplit},
      {"forecast", StageKind::kForecast}};
  std::string name;
  if (!ReadString(env, value, "kind", &name)) return false;
  for (const auto& [known, k] : kKinds) {
    if (name == known) {
      *kind = k;
      return true;
    }
  }
  return Fail(env, "kind '" + name +
                       "' is not one of source, ingest, priority, batch, uplink, tap, filter, "
                       "split, forecast");
}

bool ReadArray(Napi::Env env, Napi::Value value, const char* name, Napi::Array* array) {
  if (value.IsEmpty()) return false;
  if (!value.IsArray()) return Fail(env, std::string(name) + " must be an array");
  *array = value.As<Napi::Array>();
  return true;
}

bool ReadObject(Napi::Env env, Napi::Value value, const char* name, Napi::Object* object) {
  if (value.IsEmpty()) return false;
  if (!value.IsObject()) return Fail(env, std::string(name) + " must be an object");
  *object = value.As<Napi::Object>();
  return true;
}

bool ReadRule(Napi::Env env, Napi::Value value, Rule* rule) {
  Napi::Object object;
  if (!ReadObject(env, value, "rule", &object)) return false;
  for (const auto& [name, text] :
       {std::pair{"topic", &rule->topic}, {"device", &rule->device}, {"when", &rule->when}}) {
    const Napi::Value part = object.Get(name);
    if (part.IsEmpty()) return false;
    if (!part.IsUndefined() && !ReadString(env, part, name, text)) return false;
  }
  return ReadInt<uint8_t>(env, object.Get("class"), "class", 1, kClasses, &rule->record_class);
}

bool ReadSource(Napi::Env env, Napi::Object object, std::vector<DeviceClass>* devices) {
  const Napi::Value value = object.Get("devices");
  if (value.IsEmpty()) return false;
  if (value.IsUndefined()) return true;
  Napi::Array rows;
  if (!ReadArray(env, value, "devices", &rows)) return false;
  if (rows.Length() > kMaxDeviceClasses) return Fail(env, "devices: more than 10000");
  devices->reserve(rows.Length());
  for (uint32_t i = 0; i < rows.Length(); ++i) {
    Napi::Object row;
    DeviceClass device;
    if (!ReadObject(env, rows.Get(i), "device", &row) ||
        !ReadString(env, row.Get("device"), "device", &device.device) ||
        !ReadInt<uint8_t>(env, row.Get("class"), "class", 1, kClasses, &device.record_class)) {
      return false;
    }
    devices->push_back(std::move(device));
  }
  return true;
}

bool ReadOptionalString(Napi::Env env, Napi::Object object, const char* name, size_t most,
                        std::string* text) {
  const Napi::Value value = object.Get(name);
  if (value.IsEmpty()) return false;
  if (value.IsUndefined()) return true;
  if (!ReadString(env, value, name, text)) return false;
  return text->size() <= most ||
         Fail(env, std::string(name) + " must be at most " + std::to_string(most) + " bytes");
}

bool ReadFilters(Napi::Env env, Napi::Value value, const char* name,
                 std::vector<std::string>* filters) {
  Napi::Array list;
  if (!ReadArray(env, value, name, &list)) return false;
  if (list.Length() > kMaxPermissionFilters) {
    return Fail(env, std::string(name) + ": more than 64 filters");
  }
  for (uint32_t i = 0; i < list.Length(); ++i) {
    std::string filter;
    if (!ReadString(env, list.Get(i), name, &filter)) return false;
    filters->push_back(std::move(filter));
  }
  return true;
}

bool ReadPermissions(Napi::Env env, Napi::Object object, std::vector<Permission>* permissions) {
  const Napi::Value value = object.Get("permissions");
  if (value.IsEmpty()) return false;
  return value.IsUndefined() || ReadPermissionRows(env, value, permissions);
}

bool ReadBridges(Napi::Env env, Napi::Object object, std::vector<BridgeRow>* bridges) {
  const Napi::Value value = object.Get("bridges");
  if (value.IsEmpty()) return false;
  if (value.IsUndefined()) return true;
  Napi::Array rows;
  if (!ReadArray(env, value, "bridges", &rows)) return false;
  if (rows.Length() > kMaxBridgeRows) return Fail(env, "bridges: more than 64");
  for (uint32_t i = 0; i < rows.Length(); ++i) {
    Napi::Object row;
    BridgeRow bridge;
    if (!ReadObject(env, rows.Get(i), "bridge", &row) ||
        !ReadString(env, row.Get("device"), "device", &bridge.bridge) ||
        !ReadOptionalString(env, row, "topic", kMaxBridgeTopicBytes, &bridge.topic) ||
        !ReadOptionalString(env, row, "member", kMaxConditionBytes, &bridge.member)) {
      return false;
    }
    bridges->push_back(std::move(bridge));
  }
  return true;
}

bool ReadSubscribers(Napi::Env env, Napi::Object object, std::vector<SubscriberRow>* subscribers) {
  const Napi::Value value = object.Get("subscribers");
  if (value.IsEmpty()) return false;
  if (value.IsUndefined()) return true;
  Napi::Array rows;
  if (!ReadArray(env, value, "subscribers", &rows)) return false;
  if (rows.Length() > kMaxSubscriberRows) return Fail(env, "subscribers: more than 64");
  for (uint32_t i = 0; i < rows.Length(); ++i) {
    Napi::Object row;
    SubscriberRow subscriber;
    if (!ReadObject(env, rows.Get(i), "subscriber", &row) ||
        !ReadString(env, row.Get("client"), "client", &subscriber.client) ||
        !ReadFilters(env, row.Get("filters"), "filters", &subscriber.filters)) {
      return false;
    }
    subscribers->push_back(std::move(subscriber));
  }
  return true;
}

bool ReadProtocol(Napi::Env env, Napi::Object object, Protocol* protocol) {
  std::string name = "mqtt";
  if (!ReadOptionalString(env, object, "protocol", 16, &name)) return false;
  if (name == "mqtt") {
    *protocol = Protocol::kMqtt;
  } else if (name == "coap") {
    *protocol = Protocol::kCoap;
  } else if (name == "pushed") {
    *protocol = Protocol::kPushed;
  } else {
    return Fail(env, "protocol '" + name + "' is not one of mqtt, coap, pushed");
  }
  return true;
}

// Reads a property by its truth; absent keeps `*flag`.
bool ReadFlag(Napi::Object object, const char* name, bool* flag) {
  const Napi::Value value = object.Get(name);
  if (value.IsEmpty()) return false;
  if (!value.IsUndefined()) *flag = value.ToBoolean();
  return true;
}

bool ReadSettings(Napi::Env env, Napi::Object object, SourceSettings* settings) {
  SourceSettings& s = *settings;
  return ReadProtocol(env, object, &s.protocol) && ReadPermissions(env, object, &s.permissions) &&
         ReadBridges(env, object, &s.bridges) && ReadSubscribers(env, object, &s.subscribers) &&
         ReadFlag(object, "delivered", &s.delivered) && ReadFlag(object, "parted", &s.parted) &&
         ReadOptionalString(env, object, "part", kMaxPartBytes, &s.part) &&
         ReadOptionalString(env, object, "name", kMaxStageName, &s.name) &&
         ReadOption<uint32_t>(env, object, "rate", 0, 1'000'000, &s.rate) &&
         ReadOption<uint32_t>(env, object, "burst", 0, 1'000'000, &s.burst) &&
         ReadOptionalString(env, object, "presenceTopic", 1024, &s.presence_topic) &&
         ReadOptionalString(env, object, "classProperty", 256, &s.class_property) &&
         ReadOption<uint32_t>(env, object, "receiveMaximum", 1, 65'535, &s.receive_maximum) &&
         ReadOption<uint32_t>(env, object, "topicAliasMaximum", 0, 1024, &s.topic_alias_maximum) &&
         ReadOption<uint32_t>(env, object, "keepAliveMaxS", 0, 65'535, &s.keep_alive_max_s) &&
         ReadOption<uint32_t>(env, object, "sessionExpiryMaxS", 0, 604'800,
                              &s.session_expiry_max_s) &&
         ReadOptionalString(env, object, "path", 128, &s.path) &&
         ReadOptionalString(env, object, "commandPath", 128, &s.command_path) &&
         ReadOption<uint32_t>(env, object, "maxBodyBytes", 1024, 16'777'216, &s.max_body_bytes);
}

bool ReadPriority(Napi::Env env, Napi::Object object, StageSpec* spec) {
  Napi::Array rules;
  if (!ReadArray(env, object.Get("rules"), "rules", &rules)) return false;
  for (uint32_t i = 0; i < rules.Length(); ++i) {
    Rule rule;
    if (!ReadRule(env, rules.Get(i), &rule)) return false;
    spec->rules.push_back(std::move(rule));
  }
  return ReadInt<uint8_t>(env, object.Get("defaultClass"), "defaultClass", 0, kClasses,
                          &spec->default_class);
}

bool ReadFlush(Napi::Env env, Napi::Object object, BatcherOptions* options) {
  const Napi::Value value = object.Get("flush");
  if (value.IsEmpty()) return false;
  if (!value.IsUndefined()) {
    std::string name;
    if (!ReadString(env, value, "flush", &name)) return false;
    if (name == "balanced" || name == "thrifty") {
      options->thrift = name == "balanced" ? Thrift::kBalanced : Thrift::kThrifty;
    } else if (name != "limits" && name != "adaptive") {
      return Fail(env, "flush '" + name + "' is not one of limits, adaptive, balanced, thrifty");
    }
    options->flush = name == "limits" ? BatchFlush::kLimits : BatchFlush::kAdaptive;
  }
  Napi::Array patience;
  const Napi::Value by_class = object.Get("patienceMs");
  if (by_class.IsEmpty()) return false;
  if (!by_class.IsUndefined()) {
    if (!ReadArray(env, by_class, "patienceMs", &patience)) return false;
    if (patience.Length() > kClasses + 1) {
      return Fail(env, "patienceMs must have at most nine elements; the index is the class");
    }
    for (uint32_t c = 0; c < patience.Length(); ++c) {
      if (!ReadInt(env, patience.Get(c), "patienceMs", 0u, kMaxDelayMs, &options->patience_ms[c])) {
        return false;
      }
    }
  }
  uint32_t gap_ms = options->gap_us / 1000;
  if (!ReadOption<uint32_t>(env, object, "gapMs", 0, kMaxGapUs / 1000, &gap_ms)) return false;
  options->gap_us = gap_ms * 1000;
  return true;
}

bool ReadBatch(Napi::Env env, Napi::Object object, BatcherOptions* options) {
  std::string mode;
  if (!ReadString(env, object.Get("mode"), "mode", &mode)) return false;
  if (mode == "envelope") {
    options->mode = BatchMode::kEnvelope;
  } else if (mode == "records") {
    options->mode = BatchMode::kRecords;
  } else if (mode == "off") {
    options->mode = BatchMode::kOff;
  } else {
    return Fail(env, "mode '" + mode + "' is not one of envelope, records, off");
  }
  if (!ReadFlush(env, object, options)) return false;
  const Napi::Value format = object.Get("format");
  if (format.IsEmpty()) return false;
  if (!format.IsUndefined()) {
    std::string name;
    if (!ReadString(env, format, "format", &name)) return false;
    if (name != "ndjson") return Fail(env, "format '" + name + "' is not ndjson");
  }
  return ReadOption<uint32_t>(env, object, "minDevices", 0, 1'000'000, &options->min_devices) &&
         ReadOption<uint32_t>(env, object, "maxBytes", 1, kMaxBatchBytes, &options->max_bytes) &&
         ReadOption<uint32_t>(env, object, "maxDelayMs", 1, kMaxDelayMs, &options->max_delay_ms) &&
         ReadOption<uint8_t>(env, object, "immediateClass", 0, kClasses, &options->immediate_class);
}

// Reads a property that may be absent; then `*number` keeps its value.
bool ReadDouble(Napi::Env env, Napi::Object object, const char* name, double* number) {
  const Napi::Value value = object.Get(name);
  if (value.IsEmpty()) return false;
  if (value.IsUndefined()) return true;
  if (!value.IsNumber()) return Fail(env, std::string(name) + " must be a number");
  *number = value.As<Napi::Number>().DoubleValue();
  return true;
}

// Reads names of aggregates; absent keeps all.
bool ReadAggregates(Napi::Env env, Napi::Object object, uint8_t* aggregates) {
  static constexpr std::pair<const char*, uint8_t> kNames[] = {
      {"first", aggregate::kFirst}, {"last", aggregate::kLast}, {"min", aggregate::kMin},
      {"max", aggregate::kMax},     {"mean", aggregate::kMean}, {"sum", aggregate::kSum},
      {"count", aggregate::kCount}};
  const Napi::Value value = object.Get("aggregates");
  if (value.IsEmpty()) return false;
  if (value.IsUndefined()) return true;
  Napi::Array list;
  if (!ReadArray(env, value, "aggregates", &list)) return false;
  *aggregates = 0;
  for (uint32_t i = 0; i < list.Length(); ++i) {
    std::string name;
    if (!ReadString(env, list.Get(i), "aggregate", &name)) return false;
    uint8_t bit = 0;
    for (const auto& [known, known_bit] : kNames) bit = name == known ? known_bit : bit;
    if (bit == 0) {
      return Fail(env,
                  "aggregate '" + name + "' is not one of first, last, min, max, mean, sum, count");
    }
    *aggregates |= bit;
  }
  return true;
}

bool ReadWindow(Napi::Env env, Napi::Object object, WindowOptions* options) {
  Napi::Array list;
  if (!ReadArray(env, object.Get("values"), "values", &list)) return false;
  if (list.Length() > kMaxWindowValues) return Fail(env, "values: more than 16");
  for (uint32_t i = 0; i < list.Length(); ++i) {
    std::string value;
    if (!ReadString(env, list.Get(i), "value", &value)) return false;
    if (value.size() > kMaxConditionBytes) return Fail(env, "value must be at most 1024 bytes");
    options->values.push_back(std::move(value));
  }
  return ReadAggregates(env, object, &options->aggregates) &&
         ReadOption<uint32_t>(env, object, "windowS", 1, kMaxWindowS, &options->length_s) &&
         ReadOption<uint32_t>(env, object, "windowRecords", 0, kMaxWindowRecords,
                              &options->records) &&
         ReadFlag(object, "aligned", &options->aligned) &&
         ReadOption<uint8_t>(env, object, "windowClass", 0, kClasses, &options->record_class) &&
         ReadFlag(object, "hold", &options->hold);
}

bool ReadFilter(Napi::Env env, Napi::Object object, FilterOptions* options) {
  static constexpr std::pair<const char*, FilterMode> kModes[] = {
      {"pass", FilterMode::kPass}, {"block", FilterMode::kBlock}, {"change", FilterMode::kChange},
      {"rate", FilterMode::kRate}, {"range", FilterMode::kRange}, {"window", FilterMode::kWindow}};
  std::string mode;
  if (!ReadString(env, object.Get("mode"), "mode", &mode)) return false;
  bool is_known = false;
  for (const auto& [name, value] : kModes) {
    if (mode != name) continue;
    options->mode = value;
    is_known = true;
  }
  if (!is_known) {
    return Fail(env, "mode '" + mode + "' is not one of pass, block, change, rate, range, window");
  }
  if (options->mode == FilterMode::kWindow) return ReadWindow(env, object, &options->window);
  const Napi::Value percent = object.Get("percent");
  if (percent.IsEmpty()) return false;
  options->percent = !percent.IsUndefined() && percent.ToBoolean();
  return ReadOptionalString(env, object, "when", kMaxConditionBytes, &options->when) &&
         ReadOptionalString(env, object, "path", kMaxConditionBytes, &options->path) &&
         ReadDouble(env, object, "band", &options->band) &&
         ReadOption<uint32_t>(env, object, "everyS", 0, kMaxFilterS, &options->every_s) &&
         ReadOption<uint32_t>(env, object, "records", 1, kMaxFilterRecords, &options->records) &&
         ReadOption<uint32_t>(env, object, "periodS", 1, kMaxFilterS, &options->period_s) &&
         ReadDouble(env, object, "low", &options->low) &&
         ReadDouble(env, object, "high", &options->high);
}

// Reads a number for each part; absent keeps the parts' values.
template <typename T>
bool ReadByPart(Napi::Env env, Napi::Object object, const char* name, T most,
                std::vector<SplitPart>* parts, T SplitPart::*member) {
  const Napi::Value value = object.Get(name);
  if (value.IsEmpty()) return false;
  if (value.IsUndefined()) return true;
  Napi::Array list;
  if (!ReadArray(env, value, name, &list)) return false;
  if (list.Length() != parts->size()) {
    return Fail(env, std::string(name) + " and parts must have the same length");
  }
  for (uint32_t i = 0; i < list.Length(); ++i) {
    if (!ReadInt<T>(env, list.Get(i), name, 0, most, &((*parts)[i].*member))) return false;
  }
  return true;
}

bool ReadSplit(Napi::Env env, Napi::Object object, std::vector<SplitPart>* parts) {
  Napi::Array list;
  if (!ReadArray(env, object.Get("parts"), "parts", &list)) return false;
  if (list.Length() > kMaxParts) return Fail(env, "parts: more than 1024");
  for (uint32_t i = 0; i < list.Length(); ++i) {
    SplitPart part;
    if (!ReadString(env, list.Get(i), "part", &part.name)) return false;
    parts->push_back(std::move(part));
  }
  return ReadByPart<uint32_t>(env, object, "rates", kMaxPartRate, parts, &SplitPart::rate) &&
         ReadByPart<uint64_t>(env, object, "budgets", kMaxPartBudget, parts, &SplitPart::budget);
}

bool ReadName(Napi::Env env, Napi::Value value, std::string* name) {
  if (value.IsEmpty()) return false;
  if (value.IsUndefined()) return true;
  if (!ReadString(env, value, "name", name)) return false;
  return name->size() <= kMaxStageName || Fail(env, "name must be at most 64 bytes");
}

bool ReadStage(Napi::Env env, Napi::Value value, StageSpec* spec) {
  Napi::Object object;
  Napi::Array next;
  if (!ReadObject(env, value, "stage", &object)) return false;
  if (!ReadInt<uint32_t>(env, object.Get("id"), "id", 1, kMaxStageId, &spec->id)) return false;
  if (!ReadKind(env, object.Get("kind"), &spec->kind)) return false;
  if (!ReadArray(env, object.Get("next"), "next", &next)) return false;
  for (uint32_t i = 0; i < next.Length(); ++i) {
    uint32_t id = 0;
    if (!ReadInt<uint32_t>(env, next.Get(i), "next", 1, kMaxStageId, &id)) return false;
    spec->next.push_back(id);
  }
  const Napi::Value messages = object.Get("messages");
  if (messages.IsEmpty()) return false;
  spec->messages = messages.ToBoolean();
  switch (spec->kind) {
    case StageKind::kPriority:
      return ReadPriority(env, object, spec);
    case StageKind::kBatch:
      return ReadBatch(env, object, &spec->batcher);
    case StageKind::kUplink:
      return ReadInt<uint32_t>(env, object.Get("uplink"), "uplink", 0, kMaxStageId,
                               &spec->uplink) &&
             ReadName(env, object.Get("name"), &spec->name) &&
             ReadFlag(object, "stamps", &spec->stamps);
    case StageKind::kTap:
      return ReadOption<uint32_t>(env, object, "everyN", 0, kMaxStageId, &spec->every_n) &&
             ReadOption<uint32_t>(env, object, "perSecond", 0, kMaxStageId, &spec->per_second);
    case StageKind::kFilter:
      return ReadFilter(env, object, &spec->filter);
    case StageKind::kForecast:
      return ReadForecast(env, object, &spec->forecast);
    case StageKind::kSplit:
      return ReadSplit(env, object, &spec->parts);
    case StageKind::kSource:
      return ReadSource(env, object, &spec->devices) && ReadSettings(env, object, &spec->source);
    case StageKind::kIngest:
      return true;
  }
  return true;
}

}  // namespace

bool ReadForecast(Napi::Env env, Napi::Object object, ForecastOptions* options) {
  size_t model = static_cast<size_t>(options->model);
  if (!ReadChoice(env, object, "model", {"seasonalNaive", "holtWinters"}, &model)) return false;
  options->model = static_cast<ForecastModel>(model);
  return ReadOptionalString(env, object, "path", kMaxConditionBytes, &options->path) &&
         ReadOption<uint32_t>(env, object, "periodS", 1, kMaxForecastPeriodS, &options->period_s) &&
         ReadOption<uint32_t>(env, object, "slots", kMinForecastSlots, kMaxForecastSlots,
                              &options->slots) &&
         ReadDouble(env, object, "sigmas", &options->sigmas) &&
         ReadDouble(env, object, "least", &options->least) &&
         ReadOption<uint8_t>(env, object, "forecastClass", 0, kClasses, &options->record_class) &&
         ReadFlag(object, "annotate", &options->annotate) &&
         ReadOption<uint32_t>(env, object, "maxSeries", 1, kMaxForecastSeries,
                              &options->max_series) &&
         ReadFlag(object, "restores", &options->restores);
}

bool ReadPermissionRows(Napi::Env env, Napi::Value value, std::vector<Permission>* permissions) {
  Napi::Array rows;
  if (!ReadArray(env, value, "permissions", &rows)) return false;
  if (rows.Length() > kMaxPermissions) return Fail(env, "permissions: more than 1024");
  for (uint32_t i = 0; i < rows.Length(); ++i) {
    Napi::Object row;
    Permission permission;
    if (!ReadObject(env, rows.Get(i), "permission", &row) ||
        !ReadString(env, row.Get("device"), "device", &permission.device) ||
        !ReadFilters(env, row.Get("publish"), "publish", &permission.publish) ||
        !ReadFilters(env, row.Get("subscribe"), "subscribe", &permission.subscribe)) {
      return false;
    }
    permissions->push_back(std::move(permission));
  }
  return true;
}

bool ReadPlan(Napi::Env env, Napi::Value value, std::vector<StageSpec>* stages) {
  Napi::Object plan;
  Napi::Array array;
  if (!ReadObject(env, value, "plan", &plan)) return false;
  if (!ReadArray(env, plan.Get("stages"), "stages", &array)) return false;
  if (array.Length() > kMaxStages) return Fail(env, "stages: more than 4096");
  for (uint32_t i = 0; i < array.Length(); ++i) {
    StageSpec spec;
    if (!ReadStage(env, array.Get(i), &spec)) return false;
    stages->push_back(std::move(spec));
  }
  return true;
}

}  // namespace seganet::binding
