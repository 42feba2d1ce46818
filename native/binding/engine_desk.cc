// JavaScript's Engine: the request desk.
#include <string>
#include <utility>
#include <vector>

#include "binding/engine_wrap.h"
#include "binding/node/args.h"
#include "core/base/clock.h"

namespace seganet::binding {
namespace {

constexpr size_t kMaxTokenBytes = 8;
constexpr uint32_t kMaxAddressees = 1024;
constexpr uint32_t kMaxOptions = 256;
constexpr uint32_t kMaxSegments = 128;
constexpr size_t kMaxSegmentBytes = 255;
constexpr size_t kMaxReasonBytes = 64;
constexpr size_t kMaxOwnerBytes = 256;
constexpr size_t kMaxNameBytes = 1024;

const char* NameOf(DeskEventKind kind) {
  static constexpr const char* kNames[] = {"asked",    "gone",   "answer",
                                           "recorded", "posted", "latest"};
  return kNames[static_cast<size_t>(kind)];
}

Napi::Value Number(Napi::Env env, uint64_t value) {
  return Napi::Number::New(env, static_cast<double>(value));
}

Napi::Value Bytes(Napi::Env env, const std::string& bytes) {
  return Napi::Buffer<char>::Copy(env, bytes.data(), bytes.size());
}

Napi::Array Texts(Napi::Env env, const std::vector<std::string>& texts) {
  Napi::Array list = Napi::Array::New(env, texts.size());
  for (uint32_t i = 0; i < texts.size(); ++i) list.Set(i, Napi::String::New(env, texts[i]));
  return list;
}

Napi::Array Options(Napi::Env env, const coap::OptionValues& options) {
  Napi::Array list = Napi::Array::New(env, options.size());
  for (uint32_t i = 0; i < options.size(); ++i) {
    Napi::Array pair = Napi::Array::New(env, 2);
    pair.Set(0u, Napi::Number::New(env, options[i].number));
    pair.Set(1u, Bytes(env, options[i].value));
    list.Set(i, pair);
  }
  return list;
}

Napi::Object EventOf(Napi::Env env, const DeskEvent& event) {
  Napi::Object row = Napi::Object::New(env);
  row.Set("kind", NameOf(event.kind));
  if (event.kind == DeskEventKind::kAsked || event.kind == DeskEventKind::kGone) {
    row.Set("connection", Number(env, event.connection));
    row.Set("device", event.device);
  }
  if (event.kind == DeskEventKind::kGone) row.Set("reason", event.reason);
  if (event.kind == DeskEventKind::kAsked) {
    row.Set("address", event.address);
    row.Set("note", event.note);
    row.Set("token", Bytes(env, event.token));
    row.Set("path", Texts(env, event.path));
    row.Set("query", Texts(env, event.query));
  }
  if (event.kind == DeskEventKind::kAsked || event.kind == DeskEventKind::kAnswer) {
    row.Set("code", Napi::Number::New(env, event.code));
    row.Set("options", Options(env, event.options));
    row.Set("payload", Bytes(env, event.payload));
  }
  if (event.kind != DeskEventKind::kAsked && event.kind != DeskEventKind::kGone) {
    row.Set("handle", Number(env, event.handle));
  }
  if (event.kind == DeskEventKind::kPosted || event.kind == DeskEventKind::kLatest) {
    row.Set("number", Number(env, event.number));
    row.Set("payload", Bytes(env, event.payload));
  }
  if (event.kind == DeskEventKind::kAnswer) {
    row.Set("last", Napi::Boolean::New(env, event.last));
    row.Set("failed", Napi::Boolean::New(env, event.failed));
  }
  if (event.kind == DeskEventKind::kRecorded) {
    row.Set("result", Napi::Number::New(env, static_cast<int>(event.recorded)));
  }
  return row;
}

bool ReadConnection(Napi::Env env, Napi::Value value, uint64_t* connection) {
  return ReadInt<uint64_t>(env, value, "connection", 1, static_cast<uint64_t>(kMaxSafeInteger),
                           connection);
}

bool ReadTopic(Napi::Env env, Napi::Value value, uint64_t* topic) {
  return ReadInt<uint64_t>(env, value, "topic", 1, static_cast<uint64_t>(kMaxSafeInteger), topic);
}

bool ReadBuffer(Napi::Env env, Napi::Value value, const char* name, std::string* bytes) {
  Napi::Uint8Array array;
  if (!ReadBytes(env, value, name, &array)) return false;
  bytes->assign(reinterpret_cast<const char*>(array.Data()), array.ByteLength());
  return true;
}

// Returns the time of CLOCK_MONOTONIC, us. 0 = never.
int64_t MonotonicOf(double wall_ms) {
  constexpr int64_t kMostMs = int64_t{1} << 50;
  if (wall_ms <= 0) return kNever;
  const Now now = Now::Read();
  const int64_t left_ms = static_cast<int64_t>(wall_ms) - now.wall_ms;
  return left_ms < kMostMs ? now.mono_us + left_ms * 1000 : kNever;
}

bool ReadReason(Napi::Env env, Napi::Value value, std::string* reason) {
  if (!ReadString(env, value, "reason", reason)) return false;
  return (!reason->empty() && reason->size() <= kMaxReasonBytes) ||
         Fail(env, "reason must be 1 to 64 bytes");
}

bool ReadOptions(Napi::Env env, Napi::Value value, coap::OptionValues* options) {
  if (value.IsEmpty()) return false;
  if (!value.IsArray() || value.As<Napi::Array>().Length() > kMaxOptions) {
    return Fail(env, "options must be an array of at most 256 [number, Buffer]");
  }
  const auto list = value.As<Napi::Array>();
  for (uint32_t i = 0; i < list.Length(); ++i) {
    const Napi::Value pair = list.Get(i);
    if (pair.IsEmpty()) return false;
    if (!pair.IsArray()) return Fail(env, "options must be an array of [number, Buffer]");
    coap::OptionValue option;
    const auto both = pair.As<Napi::Array>();
    if (!ReadInt<uint16_t>(env, both.Get(0u), "an option's number", 1, 65'535, &option.number) ||
        !ReadBuffer(env, both.Get(1u), "an option's value", &option.value)) {
      return false;
    }
    if (option.value.size() > coap::kMaxOptionBytes) {
      return Fail(env, "an option's value must be at most 1034 bytes");
    }
    options->push_back(std::move(option));
  }
  return true;
}

bool ReadToken(Napi::Env env, Napi::Value value, std::string* token) {
  return ReadBuffer(env, value, "token", token) &&
         (token->size() <= kMaxTokenBytes || Fail(env, "token must be at most 8 bytes"));
}

bool ReadReply(const Napi::CallbackInfo& info, size_t first, DeskReply* reply) {
  const Napi::Env env = info.Env();
  return ReadInt<uint8_t>(env, info[first], "code", 0x40, 0xBF, &reply->code) &&
         ReadOptions(env, info[first + 1], &reply->options) &&
         ReadBuffer(env, info[first + 2], "payload", &reply->payload);
}

bool ReadAddressees(Napi::Env env, Napi::Value value, std::vector<DeskAddressee>* to) {
  if (value.IsEmpty()) return false;
  if (!value.IsArray() || value.As<Napi::Array>().Length() > kMaxAddressees) {
    return Fail(env, "to must be an array of at most 1024 requests");
  }
  const auto list = value.As<Napi::Array>();
  to->reserve(list.Length());
  for (uint32_t i = 0; i < list.Length(); ++i) {
    const Napi::HandleScope scope(env);
    const Napi::Value each = list.Get(i);
    if (each.IsEmpty()) return false;
    if (!each.IsObject()) return Fail(env, "each request must be an object");
    const auto object = each.As<Napi::Object>();
    DeskAddressee addressee;
    if (!ReadConnection(env, object.Get("connection"), &addressee.connection) ||
        !ReadToken(env, object.Get("token"), &addressee.token)) {
      return false;
    }
    to->push_back(std::move(addressee));
  }
  return true;
}

bool ReadTexts(Napi::Env env, Napi::Value value, const std::string& name,
               std::vector<std::string>* texts) {
  if (value.IsEmpty()) return false;
  const bool is_list = value.IsArray() && value.As<Napi::Array>().Length() <= kMaxSegments;
  if (!is_list) return Fail(env, name + " must be an array of at most 128 strings");
  const auto list = value.As<Napi::Array>();
  for (uint32_t i = 0; i < list.Length(); ++i) {
    std::string text;
    if (!ReadString(env, list.Get(i), name.c_str(), &text)) return false;
    if (text.size() > kMaxSegmentBytes) {
      return Fail(env, "each string of " + name + " must be at most 255 bytes");
    }
    texts->push_back(std::move(text));
  }
  return true;
}

bool ReadSpec(Napi::Env env, Napi::Value value, coap::RequestSpec* spec) {
  if (value.IsEmpty()) return false;
  if (!value.IsObject()) return Fail(env, "request must be an object");
  const auto object = value.As<Napi::Object>();
  const Napi::Value observe = object.Get("observe");
  if (observe.IsEmpty()) return false;
  spec->observe = observe.ToBoolean();
  if (!ReadInt<uint8_t>(env, object.Get("method"), "method", 1, 7, &spec->code) ||
      !ReadTexts(env, object.Get("path"), "path", &spec->path) ||
      !ReadTexts(env, object.Get("query"), "query", &spec->query) ||
      !ReadOptions(env, object.Get("options"), &spec->options) ||
      !ReadBuffer(env, object.Get("payload"), "payload", &spec->payload)) {
    return false;
  }
  const bool may_observe = spec->code == coap::kGet || spec->code == coap::kFetch;
  return !spec->observe || may_observe || Fail(env, "only GET and FETCH can observe");
}

}  // namespace

Napi::Value EngineWrap::TakeDesk(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  uint32_t stage = 0;
  uint32_t limit = 0;
  if (!ReadInt<uint32_t>(env, info[0], "stage", 1, UINT32_MAX, &stage) ||
      !ReadInt<uint32_t>(env, info[1], "limit", 1, 10'000, &limit)) {
    return env.Undefined();
  }
  Napi::Array rows = Napi::Array::New(env);
  for (const DeskEvent& event : handle_->engine.TakeDesk(stage, limit)) {
    const Napi::HandleScope scope(env);
    rows.Set(rows.Length(), EventOf(env, event));
  }
  return rows;
}

Napi::Value EngineWrap::AnswerRequest(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  DeskAddressee to;
  DeskReply reply;
  if (!ReadConnection(env, info[0], &to.connection) || !ReadToken(env, info[1], &to.token) ||
      !ReadReply(info, 2, &reply)) {
    return env.Undefined();
  }
  return Napi::Boolean::New(
      env, handle_->engine.AnswerRequest(to.connection, std::move(to.token), reply.code,
                                         std::move(reply.options), std::move(reply.payload)));
}

void EngineWrap::AnswerRequests(const Napi::CallbackInfo& info) {
  std::vector<DeskAddressee> to;
  DeskReply reply;
  if (!ReadAddressees(info.Env(), info[0], &to) || !ReadReply(info, 1, &reply)) return;
  handle_->engine.AnswerRequests(to, std::move(reply));
}

Napi::Value EngineWrap::IdentifyConnection(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  uint64_t connection = 0;
  DeskIdentity identity;
  double until_ms = 0;
  double forward_until_ms = 0;
  if (!ReadConnection(env, info[0], &connection) ||
      !ReadString(env, info[1], "device", &identity.device) ||
      !ReadString(env, info[2], "owner", &identity.owner) ||
      !ReadNumber(env, info[3], "untilMs", 0, kMaxSafeInteger, &until_ms) ||
      (!info[4].IsUndefined() &&
       !ReadNumber(env, info[4], "forwardUntilMs", 0, kMaxSafeInteger, &forward_until_ms))) {
    return env.Undefined();
  }
  identity.until_us = MonotonicOf(until_ms);
  identity.forward_until_us = MonotonicOf(forward_until_ms > 0 ? forward_until_ms : until_ms);
  return Napi::Boolean::New(env,
                            handle_->engine.IdentifyConnection(connection, std::move(identity)));
}

Napi::Value EngineWrap::SettleRequest(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  uint64_t connection = 0;
  std::string token;
  if (!ReadConnection(env, info[0], &connection) || !ReadBuffer(env, info[1], "token", &token)) {
    return env.Undefined();
  }
  return Napi::Boolean::New(env, handle_->engine.SettleRequest(connection, token));
}

Napi::Value EngineWrap::GrantConnection(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  uint64_t connection = 0;
  std::string owner;
  uint8_t rights = 0;
  if (!ReadConnection(env, info[0], &connection) || !ReadString(env, info[1], "owner", &owner) ||
      !ReadInt<uint8_t>(env, info[2], "rights", 0, 2, &rights)) {
    return env.Undefined();
  }
  if (owner.empty() || owner.size() > kMaxOwnerBytes) {
    Fail(env, "owner must be 1 to 256 bytes");
    return env.Undefined();
  }
  return Napi::Boolean::New(
      env, handle_->engine.GrantConnection(connection, owner, static_cast<GrantRights>(rights)));
}

Napi::Value EngineWrap::ForgetConnection(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  uint64_t connection = 0;
  std::string reason;
  if (!ReadConnection(env, info[0], &connection) || !ReadReason(env, info[1], &reason)) {
    return env.Undefined();
  }
  return Napi::Boolean::New(env, handle_->engine.ForgetConnection(connection, reason));
}

Napi::Value EngineWrap::CloseConnection(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  uint64_t connection = 0;
  std::string reason;
  if (!ReadConnection(env, info[0], &connection) || !ReadReason(env, info[1], &reason)) {
    return env.Undefined();
  }
  return Napi::Boolean::New(env, handle_->engine.CloseConnection(connection, reason));
}

Napi::Value EngineWrap::RecordOfConnection(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  uint64_t connection = 0;
  uint64_t handle = 0;
  uint64_t post = 0;
  std::string topic, payload;
  uint8_t record_class = 0;
  if (!ReadConnection(env, info[0], &connection) ||
      !ReadInt<uint64_t>(env, info[1], "handle", 1, static_cast<uint64_t>(kMaxSafeInteger),
                         &handle) ||
      !ReadString(env, info[2], "topic", &topic) ||
      !ReadBuffer(env, info[3], "payload", &payload) ||
      !ReadInt<uint8_t>(env, info[4], "recordClass", 0, kClasses, &record_class) ||
      (!info[5].IsUndefined() &&
       !ReadInt<uint64_t>(env, info[5], "post", 0, static_cast<uint64_t>(kMaxSafeInteger),
                          &post))) {
    return env.Undefined();
  }
  const PushResult result = handle_->engine.RecordOfConnection(
      connection, handle, std::move(topic), std::move(payload), record_class, post);
  return Napi::Number::New(env, static_cast<int>(result));
}

Napi::Value EngineWrap::AskDevice(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  uint32_t stage = 0;
  uint32_t timeout_ms = 0;
  DeviceAsk ask;
  if (!ReadInt<uint32_t>(env, info[0], "stage", 1, UINT32_MAX, &stage) ||
      !ReadString(env, info[1], "device", &ask.device) || !ReadSpec(env, info[2], &ask.request) ||
      !ReadInt<uint32_t>(env, info[3], "timeoutMs", 1, 3'600'000, &timeout_ms)) {
    return env.Undefined();
  }
  return Number(env, handle_->engine.AskDevice(stage, std::move(ask), int64_t{timeout_ms} * 1000));
}

void EngineWrap::CancelAsk(const Napi::CallbackInfo& info) {
  uint64_t handle = 0;
  if (!ReadInt<uint64_t>(info.Env(), info[0], "handle", 1, static_cast<uint64_t>(kMaxSafeInteger),
                         &handle)) {
    return;
  }
  handle_->engine.CancelAsk(handle);
}

Napi::Value EngineWrap::OpenTopic(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  DeskTopicSpec spec;
  if (!ReadInt<uint32_t>(env, info[0], "stage", 1, UINT32_MAX, &spec.stage) ||
      !ReadString(env, info[1], "owner", &spec.owner) ||
      !ReadString(env, info[2], "name", &spec.name) ||
      !ReadString(env, info[3], "subject", &spec.subject) ||
      !ReadInt<uint8_t>(env, info[4], "recordClass", 0, kClasses, &spec.record_class)) {
    return env.Undefined();
  }
  if (spec.owner.empty() || spec.owner.size() > kMaxOwnerBytes || spec.name.empty() ||
      spec.name.size() > kMaxNameBytes) {
    Fail(env, "owner must be 1 to 256 bytes, and name 1 to 1024");
    return env.Undefined();
  }
  const uint64_t id = handle_->engine.OpenTopic(std::move(spec));
  return Napi::Number::New(env, static_cast<double>(id));
}

void EngineWrap::CloseTopic(const Napi::CallbackInfo& info) {
  uint64_t topic = 0;
  if (ReadTopic(info.Env(), info[0], &topic)) handle_->engine.CloseTopic(topic);
}

void EngineWrap::FollowTopic(const Napi::CallbackInfo& info) {
  uint64_t topic = 0;
  if (!ReadTopic(info.Env(), info[0], &topic)) return;
  handle_->engine.FollowTopic(topic, info[1].ToBoolean());
}

void EngineWrap::AskLatestPost(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  uint32_t stage = 0;
  uint64_t handle = 0;
  uint64_t topic = 0;
  if (!ReadInt<uint32_t>(env, info[0], "stage", 1, UINT32_MAX, &stage) ||
      !ReadInt<uint64_t>(env, info[1], "handle", 1, static_cast<uint64_t>(kMaxSafeInteger),
                         &handle) ||
      !ReadTopic(env, info[2], &topic)) {
    return;
  }
  handle_->engine.AskLatest(stage, handle, topic);
}

}  // namespace seganet::binding
