#include "binding/engine_wrap.h"

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "binding/desk/desk_options_reader.h"
#include "binding/listener/dtls_options.h"
#include "binding/listener/proxy_options.h"
#include "binding/node/args.h"
#include "binding/plan_reader.h"
#include "binding/stats.h"
#include "core/base/clock.h"
#include "core/record/record.h"
#include "core/record/trace_context.h"

namespace seganet::binding {
namespace {

constexpr uint32_t kAnyStage = UINT32_MAX;
constexpr uint8_t kAllFlags = kFlagQos1 | kFlagRetain | kFlagEnvelope;  // JavaScript's Flag
constexpr uint64_t kMaxEpoch = 9007199254740991;                        // Number.MAX_SAFE_INTEGER
constexpr double kMaxTimeMs = 8.64e15;  // the last date in JavaScript

// The results of takeCompletions().
enum class CompletionResult {
  kDropped = 0,
  kSafe = 1,
  kWithheld = 2,
  kRefused = 3,
  kNoPart = 4,
  kPartFull = 5
};

CompletionResult ResultOf(const Completion& completion) {
  if (completion.ok) return CompletionResult::kSafe;
  if (completion.refused) return CompletionResult::kRefused;
  if (!completion.withheld) return CompletionResult::kDropped;
  if (completion.why == Untaken::kNoPart) return CompletionResult::kNoPart;
  return completion.why == Untaken::kPartFull ? CompletionResult::kPartFull
                                              : CompletionResult::kWithheld;
}

bool ReadTrace(Napi::Env env, Napi::Value value, std::string* trace) {
  if (!ReadString(env, value, "trace", trace)) return false;
  return ValidTrace(*trace) || Fail(env, "trace must be a traceparent, followed by a tracestate");
}

// Reads a number for each class; absent keeps `*values`. Elements before `first`, including [0],
// are ignored.
bool ReadByClass(Napi::Env env, Napi::Object object, const char* name, uint8_t first, uint32_t low,
                 uint32_t high, std::array<uint32_t, kClasses + 1>* values) {
  const Napi::Value list = object.Get(name);
  if (list.IsEmpty()) return false;
  if (list.IsUndefined()) return true;
  if (!list.IsArray() || list.As<Napi::Array>().Length() != values->size()) {
    return Fail(env, std::string(name) + " must be an array of " + std::to_string(values->size()) +
                         " numbers, [0] unused");
  }
  for (uint32_t c = first; c < values->size(); ++c) {
    if (!ReadInt(env, list.As<Napi::Array>().Get(c), name, low, high, &(*values)[c])) return false;
  }
  return true;
}

bool ReadClassOptions(Napi::Env env, Napi::Object object, EngineOptions* options) {
  return ReadByClass(env, object, "ttlS", kCritical, 0, UINT32_MAX, &options->ttl_s) &&
         ReadByClass(env, object, "weights", kHigh, 1, kMaxWeight, &options->weights) &&
         ReadByClass(env, object, "ratePerS", kCritical, 0, kMaxRatePerS, &options->rate_per_s) &&
         ReadByClass(env, object, "queueRecords", kCritical, 0, UINT32_MAX,
                     &options->queue_records) &&
         ReadOption(env, object, "agingMs", 0u, kMaxAgingMs, &options->aging_ms);
}

bool ReadLogOptions(Napi::Env env, Napi::Object object, EngineOptions* options) {
  auto acknowledge = static_cast<size_t>(options->acknowledge);
  auto when_full = static_cast<size_t>(options->drop_when_full);
  const Napi::Value log = object.Get("log");
  if (log.IsEmpty()) return false;
  options->log = log.ToBoolean();
  if (!ReadChoice(env, object, "acknowledge", {"received", "safe", "stored", "replicated"},
                  &acknowledge) ||
      !ReadChoice(env, object, "whenFull", {"slow", "drop"}, &when_full) ||
      !ReadOption(env, object, "lingerUrgentMs", 0u, 1000u, &options->linger_urgent_ms) ||
      !ReadOption(env, object, "lingerMs", 0u, 1000u, &options->linger_ms) ||
      !ReadOption(env, object, "patienceMs", 0u, 60'000u, &options->patience_ms) ||
      !ReadOption(env, object, "epoch", uint64_t{1}, kMaxEpoch, &options->epoch)) {
    return false;
  }
  options->acknowledge = static_cast<Acknowledge>(acknowledge);
  options->drop_when_full = when_full == 1;
  return true;
}

bool ReadOddTopics(Napi::Env env, Napi::Object object, EngineOptions* options) {
  auto odd_topics = static_cast<size_t>(options->odd_topics);
  if (!ReadChoice(env, object, "oddTopics", {"refuse", "accept"}, &odd_topics)) return false;
  options->odd_topics = odd_topics == 1;
  return true;
}

bool ReadRebalance(Napi::Env env, Napi::Object object, EngineOptions* options) {
  auto rebalance = static_cast<size_t>(options->rebalance);
  if (!ReadChoice(env, object, "rebalance", {"off", "live"}, &rebalance)) return false;
  options->rebalance = rebalance == 1;
  return true;
}

bool ReadValuesOptions(Napi::Env env, Napi::Object object, LastValuesOptions* options) {
  if (!ReadOption(env, object, "valuesMiB", 0u, kMaxValuesMiB, &options->memory_mib) ||
      !ReadOption(env, object, "valueTopics", 1u, kMostValueTopics, &options->topics)) {
    return false;
  }
  const Napi::Value list = object.Get("valuesNotKept");
  if (list.IsEmpty()) return false;
  if (list.IsUndefined()) return true;
  if (!list.IsArray()) return Fail(env, "valuesNotKept must be an array of topic filters");
  const auto filters = list.As<Napi::Array>();
  // The engine checks the filters.
  options->not_kept.resize(std::min<size_t>(filters.Length(), kMostNotKept + 1));
  for (uint32_t i = 0; i < options->not_kept.size(); ++i) {
    if (!ReadString(env, filters.Get(i), "valuesNotKept", &options->not_kept[i])) return false;
  }
  return true;
}

bool ReadEngineOptions(Napi::Env env, Napi::Value value, EngineOptions* options) {
  if (!value.IsObject()) {
    Napi::TypeError::New(env, "options must be an object").ThrowAsJavaScriptException();
    return false;
  }
  const auto object = value.As<Napi::Object>();
  const Napi::Value cpus = object.Get("cpus");
  if (cpus.IsEmpty()) return false;
  if (!cpus.IsUndefined() && !ReadString(env, cpus, "cpus", &options->cpus)) return false;
  return ReadOption(env, object, "workers", 0, 64, &options->workers) &&
         ReadOption(env, object, "memoryMiB", 1u, 65'536u, &options->memory_mib) &&
         ReadOption(env, object, "maxPacketBytes", 1024u, 16'777'216u,
                    &options->max_packet_bytes) &&
         ReadOption(env, object, "maxDevices", 1u, 1'000'000u, &options->max_devices) &&
         ReadOption(env, object, "messageRingMiB", 4u, 1024u, &options->message_ring_mib) &&
         ReadOption(env, object, "wakeIntervalUs", 0u, 100'000u, &options->wake_interval_us) &&
         ReadValuesOptions(env, object, &options->values) && ReadRebalance(env, object, options) &&
         ReadOddTopics(env, object, options) && ReadLogOptions(env, object, options) &&
         ReadClassOptions(env, object, options);
}

bool ReadListenOptions(Napi::Env env, Napi::Object object, ListenSpec* spec) {
  size_t transport = 0;
  size_t login = 0;
  uint32_t timeout_ms = 10'000;
  uint32_t half_open = 8192;
  if (!ReadString(env, object.Get("host"), "host", &spec->host) ||
      !ReadInt<uint16_t>(env, object.Get("port"), "port", 0, 65'535, &spec->port) ||
      !ReadChoice(env, object, "transport", {"tcp", "udp", "streams", "dtls"}, &transport) ||
      !ReadChoice(env, object, "login", {"open", "ask"}, &login) ||
      !ReadOption(env, object, "connectTimeoutMs", 1u, 3'600'000u, &timeout_ms) ||
      !ReadOption(env, object, "maxHalfOpen", 1u, 65'536u, &half_open)) {
    return false;
  }
  uint32_t idle_s = 86'400;
  if (!ReadOption(env, object, "sessionIdleS", 1u, 2'592'000u, &idle_s)) return false;
  spec->session_idle_us = int64_t{idle_s} * 1'000'000;
  spec->transport = static_cast<Transport>(transport);
  if (spec->transport == Transport::kDtls && !ReadDtls(env, object.Get("dtls"), &spec->dtls)) {
    return false;
  }
  spec->ask_login = login == 1;
  spec->connect_timeout_us = int64_t{timeout_ms} * 1000;
  spec->max_half_open = half_open;
  if (!ReadProxies(env, object, &spec->proxies)) return false;
  const Napi::Value desk = object.Get("desk");
  if (desk.IsEmpty()) return false;
  return desk.IsUndefined() || ReadDeskOptions(env, desk, half_open, spec);
}

}  // namespace

Napi::Function EngineWrap::Define(Napi::Env env) {
  return DefineClass(env, "Engine",
                     {InstanceMethod<&EngineWrap::Workers>("workers"),
                      InstanceMethod<&EngineWrap::WorkerOf>("workerOf"),
                      InstanceMethod<&EngineWrap::ApplyPlan>("applyPlan"),
                      InstanceMethod<&EngineWrap::Listen>("listen"),
                      InstanceMethod<&EngineWrap::RenewDtls>("renewDtls"),
                      InstanceMethod<&EngineWrap::Unlisten>("unlisten"),
                      InstanceMethod<&EngineWrap::TakeLogins>("takeLogins"),
                      InstanceMethod<&EngineWrap::AnswerLogin>("answerLogin"),
                      InstanceMethod<&EngineWrap::DismissDevice>("dismissDevice"),
                      InstanceMethod<&EngineWrap::TakeOverDevice>("takeOverDevice"),
                      InstanceMethod<&EngineWrap::TakeDesk>("takeDesk"),
                      InstanceMethod<&EngineWrap::AnswerRequest>("answerRequest"),
                      InstanceMethod<&EngineWrap::AnswerRequests>("answerRequests"),
                      InstanceMethod<&EngineWrap::IdentifyConnection>("identifyConnection"),
                      InstanceMethod<&EngineWrap::SettleRequest>("settleRequest"),
                      InstanceMethod<&EngineWrap::GrantConnection>("grantConnection"),
                      InstanceMethod<&EngineWrap::ForgetConnection>("forgetConnection"),
                      InstanceMethod<&EngineWrap::CloseConnection>("closeConnection"),
                      InstanceMethod<&EngineWrap::RecordOfConnection>("recordOfConnection"),
                      InstanceMethod<&EngineWrap::AskDevice>("askDevice"),
                      InstanceMethod<&EngineWrap::CancelAsk>("cancelAsk"),
                      InstanceMethod<&EngineWrap::OpenTopic>("openTopic"),
                      InstanceMethod<&EngineWrap::CloseTopic>("closeTopic"),
                      InstanceMethod<&EngineWrap::FollowTopic>("followTopic"),
                      InstanceMethod<&EngineWrap::AskLatestPost>("askLatestPost"),
                      InstanceMethod<&EngineWrap::Push>("push"),
                      InstanceMethod<&EngineWrap::Classify>("classify"),
                      InstanceMethod<&EngineWrap::TakeMessages>("takeMessages"),
                      InstanceMethod<&EngineWrap::TakeCompletions>("takeCompletions"),
                      InstanceMethod<&EngineWrap::EndDeferrals>("endDeferrals"),
                      InstanceMethod<&EngineWrap::Command>("command"),
                      InstanceMethod<&EngineWrap::TakeCommandResults>("takeCommandResults"),
                      InstanceMethod<&EngineWrap::TakeEvents>("takeEvents"),
                      InstanceMethod<&EngineWrap::Agents>("agents"),
                      InstanceMethod<&EngineWrap::Values>("values"),
                      InstanceMethod<&EngineWrap::ValueLevels>("valueLevels"),
                      InstanceMethod<&EngineWrap::SaveValues>("saveValues"),
                      InstanceMethod<&EngineWrap::RestoreValues>("restoreValues"),
                      InstanceMethod<&EngineWrap::SaveForecasts>("saveForecasts"),
                      InstanceMethod<&EngineWrap::RestoreForecasts>("restoreForecasts"),
                      InstanceMethod<&EngineWrap::TeachForecast>("teachForecast"),
                      InstanceMethod<&EngineWrap::LookAtForecasts>("lookAtForecasts"),
                      InstanceMethod<&EngineWrap::Flush>("flush"),
                      InstanceMethod<&EngineWrap::SaveAll>("saveAll"),
                      InstanceMethod<&EngineWrap::SetDiskCounts>("setDiskCounts"),
                      InstanceMethod<&EngineWrap::StopAccepting>("stopAccepting"),
                      InstanceMethod<&EngineWrap::StopReading>("stopReading"),
                      InstanceMethod<&EngineWrap::SaveSessions>("saveSessions"),
                      InstanceMethod<&EngineWrap::EndRestore>("endRestore"),
                      InstanceMethod<&EngineWrap::HoldReading>("holdReading"),
                      InstanceMethod<&EngineWrap::Stats>("stats"),
                      InstanceMethod<&EngineWrap::Fingerprint>("fingerprint"),
                      InstanceMethod<&EngineWrap::Parts>("parts"),
                      InstanceMethod<&EngineWrap::Close>("close")});
}

EngineWrap::EngineWrap(const Napi::CallbackInfo& info) : Napi::ObjectWrap<EngineWrap>(info) {
  const Napi::Env env = info.Env();
  EngineOptions options;
  // Differs from the epoch of every other run, even if the clock starts in 1970 each time.
  options.epoch = static_cast<uint64_t>(Now::Read().wall_ms) * 1024 + std::random_device()() % 1024;
  if (!ReadEngineOptions(env, info[0], &options)) return;
  if (!info[1].IsFunction()) {
    Napi::TypeError::New(env, "onDoorbell must be a function").ThrowAsJavaScriptException();
    return;
  }
  auto handle = std::make_shared<EngineHandle>();
  handle->bell.Open(env, info[1].As<Napi::Function>());
  if (const Status status = handle->engine.Start(options); !status.ok()) {
    handle->bell.Disconnect();
    Throw(env, status);
    return;
  }
  handle_ = std::move(handle);
  token_ = RegisterEngine(handle_);
  // Values, not accessors: V8 checks `this` for the methods of a class, but not for getters.
  auto self = info.This().As<Napi::Object>();
  const auto define = [&](const char* name, double value) {
    self.DefineProperty(
        Napi::PropertyDescriptor::Value(name, Napi::Number::New(env, value), napi_enumerable));
  };
  define("token", token_);
  define("epoch", static_cast<double>(options.epoch));
  // The threads must end before the environment does, even if close() is never called.
  napi_add_env_cleanup_hook(env, OnEnvironmentEnd, this);
}

void EngineWrap::OnEnvironmentEnd(void* self) {
  auto* wrap = static_cast<EngineWrap*>(self);
  wrap->CloseNow();
  wrap->handle_.reset();
}

EngineWrap::~EngineWrap() {
  if (!handle_) return;
  napi_remove_env_cleanup_hook(Env(), OnEnvironmentEnd, this);
  CloseNow();
}

void EngineWrap::CloseNow() {
  if (!handle_) return;
  ForgetEngine(token_);
  handle_->engine.Close();
  handle_->bell.Disconnect();
}

Napi::Value EngineWrap::Workers(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Array rows = Napi::Array::New(env);
  for (const WorkerInfo& worker : handle_->engine.Workers()) {
    Napi::Object row = Napi::Object::New(env);
    row.Set("index", Napi::Number::New(env, static_cast<double>(worker.index)));
    row.Set("tid", Napi::Number::New(env, worker.tid));
    row.Set("cpu", Napi::Number::New(env, worker.cpu));
    row.Set("reason", Napi::String::New(env, worker.reason));
    row.Set("capacity", Napi::Number::New(env, worker.capacity));
    rows.Set(rows.Length(), row);
  }
  return rows;
}

Napi::Value EngineWrap::WorkerOf(const Napi::CallbackInfo& info) {
  std::string device;
  if (!ReadString(info.Env(), info[0], "deviceId", &device)) return info.Env().Undefined();
  return Napi::Number::New(info.Env(), handle_->engine.WorkerOf(device));
}

void EngineWrap::ApplyPlan(const Napi::CallbackInfo& info) {
  std::vector<StageSpec> stages;
  if (!ReadPlan(info.Env(), info[0], &stages)) return;
  const Status status = handle_->engine.ApplyPlan(std::move(stages));
  if (!status.ok()) Throw(info.Env(), status);
}

Napi::Value EngineWrap::Listen(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  uint32_t stage = 0;
  if (!ReadInt<uint32_t>(env, info[0], "stage", 1, kAnyStage, &stage)) return env.Undefined();
  if (!info[1].IsObject()) {
    Napi::TypeError::New(env, "options must be an object").ThrowAsJavaScriptException();
    return env.Undefined();
  }
  ListenSpec spec;
  if (!ReadListenOptions(env, info[1].As<Napi::Object>(), &spec)) return env.Undefined();
  uint16_t bound = 0;
  const Status status = handle_->engine.Listen(stage, spec, &bound);
  if (!status.ok()) {
    Throw(env, status);
    return env.Undefined();
  }
  return Napi::Number::New(env, bound);
}

void EngineWrap::RenewDtls(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  uint32_t stage = 0;
  std::shared_ptr<const DtlsContext> context;
  if (!ReadInt<uint32_t>(env, info[0], "stage", 1, kAnyStage, &stage) ||
      !ReadDtls(env, info[1], &context)) {
    return;
  }
  const Status status = handle_->engine.RenewDtls(stage, std::move(context));
  if (!status.ok()) Throw(env, status);
}

void EngineWrap::Unlisten(const Napi::CallbackInfo& info) {
  uint32_t stage = 0;
  if (!ReadInt<uint32_t>(info.Env(), info[0], "stage", 1, kAnyStage, &stage)) return;
  handle_->engine.Unlisten(stage);
}

Napi::Value EngineWrap::Push(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  std::string device, topic, trace;
  Napi::Uint8Array payload;
  uint32_t stage = 0;
  uint8_t record_class = 0, flags = 0;
  double ts_ms = 0, seq = 0;
  uint32_t ticket = 0;
  uint32_t deferral = 0;
  if (!ReadInt<uint32_t>(env, info[0], "stage", 1, kAnyStage, &stage) ||
      !ReadString(env, info[1], "deviceId", &device) ||
      !ReadString(env, info[2], "topic", &topic) || !ReadBytes(env, info[3], "payload", &payload) ||
      !ReadInt<uint8_t>(env, info[4], "recordClass", 0, kClasses, &record_class) ||
      !ReadInt<uint8_t>(env, info[5], "flags", 0, kAllFlags, &flags) ||
      !ReadNumber(env, info[6], "tsMs", 0, kMaxTimeMs, &ts_ms) ||
      !ReadNumber(env, info[7], "seq", -1, UINT32_MAX, &seq) ||
      !ReadInt<uint32_t>(env, info[8], "ticket", 0, UINT32_MAX, &ticket) ||
      (!info[9].IsUndefined() &&
       !ReadInt<uint32_t>(env, info[9], "deferral", 0, UINT32_MAX, &deferral)) ||
      (!info[10].IsUndefined() && !ReadTrace(env, info[10], &trace))) {
    return env.Undefined();
  }
  Record record;
  record.device = device;
  record.topic = topic;
  record.payload = {reinterpret_cast<const char*>(payload.Data()), payload.ByteLength()};
  record.trace = trace;
  record.record_class = record_class == 0 ? kNormal : record_class;
  record.flags = flags;
  record.ts_ms = static_cast<int64_t>(ts_ms);
  record.seq = seq < 0 ? 0 : static_cast<uint32_t>(seq);
  record.ticket = ticket;
  record.deferral = deferral;
  const PushResult result = handle_->engine.Push(stage, record, seq < 0);
  return Napi::Number::New(env, static_cast<int>(result));
}

Napi::Value EngineWrap::Classify(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  std::string device, topic;
  Napi::Uint8Array payload;
  uint32_t stage = 0;
  uint8_t current = 0;
  if (!ReadInt<uint32_t>(env, info[0], "stage", 1, kAnyStage, &stage) ||
      !ReadString(env, info[1], "deviceId", &device) ||
      !ReadString(env, info[2], "topic", &topic) || !ReadBytes(env, info[3], "payload", &payload) ||
      !ReadInt<uint8_t>(env, info[4], "recordClass", 0, kClasses, &current)) {
    return env.Undefined();
  }
  const std::string_view bytes(reinterpret_cast<const char*>(payload.Data()), payload.ByteLength());
  return Napi::Number::New(
      env, handle_->engine.ClassOf(stage, device, topic, bytes, current == 0 ? kNormal : current));
}

Napi::Value EngineWrap::TakeMessages(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Uint8Array into;
  if (!ReadBytes(env, info[0], "into", &into)) return env.Undefined();
  size_t needed = 0;
  const size_t bytes = handle_->engine.TakeMessages(reinterpret_cast<char*>(into.Data()),
                                                    into.ByteLength(), &needed);
  return Napi::Number::New(env,
                           needed > 0 ? -static_cast<double>(needed) : static_cast<double>(bytes));
}

Napi::Value EngineWrap::TakeCompletions(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Array flat = Napi::Array::New(env);
  for (const Completion& completion : handle_->engine.TakeCompletions()) {
    flat.Set(flat.Length(), Napi::Number::New(env, completion.ticket));
    flat.Set(flat.Length(), Napi::Number::New(env, static_cast<int>(ResultOf(completion))));
  }
  return flat;
}

void EngineWrap::EndDeferrals(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  uint8_t end = 0;
  if (!info[0].IsArray()) {
    Fail(env, "ids must be an array of numbers");
    return;
  }
  if (!ReadInt<uint8_t>(env, info[1], "end", 0, 2, &end)) return;
  const auto ids = info[0].As<Napi::Array>();
  std::vector<Deferral> ends;
  for (uint32_t i = 0; i < ids.Length(); ++i) {
    Deferral one{.end = static_cast<DeferralEnd>(end)};
    if (!ReadInt<uint32_t>(env, ids.Get(i), "ids", 1, UINT32_MAX, &one.id)) return;
    ends.push_back(one);
  }
  handle_->engine.EndDeferrals(ends);
}

void EngineWrap::Flush(const Napi::CallbackInfo& info) {
  uint32_t stage = 0;
  if (!ReadInt<uint32_t>(info.Env(), info[0], "stage", 0, kAnyStage, &stage)) return;
  handle_->engine.Flush(stage);
}

void EngineWrap::SaveAll(const Napi::CallbackInfo&) { handle_->engine.SaveAll(); }

void EngineWrap::SetDiskCounts(const Napi::CallbackInfo& info) {
  handle_->engine.SetDiskCounts(info[0].ToBoolean());
}

void EngineWrap::StopAccepting(const Napi::CallbackInfo&) { handle_->engine.StopAccepting(); }

void EngineWrap::StopReading(const Napi::CallbackInfo&) { handle_->engine.StopReading(); }

void EngineWrap::SaveSessions(const Napi::CallbackInfo&) { handle_->engine.SaveSessions(); }

void EngineWrap::EndRestore(const Napi::CallbackInfo&) { handle_->engine.sessions().GiveUp(); }

void EngineWrap::HoldReading(const Napi::CallbackInfo& info) {
  handle_->engine.HoldReading(info[0].ToBoolean().Value());
}

Napi::Value EngineWrap::Stats(const Napi::CallbackInfo& info) {
  return ReadStats(info.Env(), &handle_->engine);
}

Napi::Value EngineWrap::Fingerprint(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), ReadFingerprint(&handle_->engine));
}

Napi::Value EngineWrap::Parts(const Napi::CallbackInfo& info) {
  return ReadParts(info.Env(), *handle_->engine.plan());
}

void EngineWrap::Close(const Napi::CallbackInfo&) { CloseNow(); }

}  // namespace seganet::binding
