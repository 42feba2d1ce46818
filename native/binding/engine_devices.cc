// JavaScript's Engine: commands, events and the agent registry.
#include <string>
#include <utility>

#include "binding/engine_wrap.h"
#include "binding/node/args.h"

namespace seganet::binding {

Napi::Value EngineWrap::Command(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  seganet::Command command;
  Napi::Uint8Array payload;
  uint32_t timeout_ms = 0;
  if (!ReadInt<uint32_t>(env, info[0], "ticket", 1, UINT32_MAX, &command.ticket) ||
      !ReadString(env, info[1], "deviceId", &command.device) ||
      !ReadString(env, info[2], "topic", &command.topic) ||
      !ReadBytes(env, info[3], "payload", &payload) ||
      !ReadInt<uint8_t>(env, info[4], "qos", 0, 1, &command.qos) ||
      !ReadInt<uint32_t>(env, info[5], "timeoutMs", 1, 3'600'000, &timeout_ms)) {
    return env.Undefined();
  }
  command.own_topic = info[6].ToBoolean();
  command.payload.assign(reinterpret_cast<const char*>(payload.Data()), payload.ByteLength());
  const PushResult result = handle_->engine.Command(std::move(command), int64_t{timeout_ms} * 1000);
  return Napi::Number::New(env, static_cast<int>(result));
}

Napi::Value EngineWrap::TakeCommandResults(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Array flat = Napi::Array::New(env);
  for (const CommandResult& result : handle_->engine.TakeCommandResults()) {
    flat.Set(flat.Length(), Napi::Number::New(env, result.ticket));
    flat.Set(flat.Length(), Napi::Number::New(env, static_cast<int>(result.end)));
  }
  return flat;
}

Napi::Value EngineWrap::TakeEvents(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  uint32_t limit = 0;
  if (!ReadInt<uint32_t>(env, info[0], "limit", 1, DeviceEvents::kMost, &limit)) {
    return env.Undefined();
  }
  Napi::Array rows = Napi::Array::New(env);
  for (const DeviceEvent& event : handle_->engine.TakeEvents(limit)) {
    // There may be thousands of events; the scope frees the handles of each.
    const Napi::HandleScope scope(env);
    Napi::Object row = Napi::Object::New(env);
    row.Set("kind", Name(event.kind));
    row.Set("device", event.device);
    row.Set("stage", Napi::Number::New(env, event.stage));
    row.Set("worker", Napi::Number::New(env, event.worker));
    row.Set("reason", event.kind == DeviceEventKind::kDisconnected ? Name(event.end) : "");
    row.Set("address", event.address);
    rows.Set(rows.Length(), row);
  }
  return rows;
}

Napi::Value EngineWrap::Agents(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  std::string after;
  uint32_t limit = 0;
  if (!ReadString(env, info[0], "after", &after) ||
      !ReadInt<uint32_t>(env, info[1], "limit", 1, 10'000, &limit)) {
    return env.Undefined();
  }
  Napi::Array rows = Napi::Array::New(env);
  for (const AgentInfo& agent : handle_->engine.Agents(after, limit)) {
    const Napi::HandleScope scope(env);
    Napi::Object row = Napi::Object::New(env);
    row.Set("device", agent.device);
    row.Set("stage", Napi::Number::New(env, agent.stage));
    row.Set("worker", Napi::Number::New(env, agent.worker));
    row.Set("connected", Napi::Boolean::New(env, agent.connected));
    row.Set("listening", Napi::Boolean::New(env, agent.listening));
    row.Set("reads", Napi::Number::New(env, static_cast<double>(agent.reads)));
    row.Set("drops", Napi::Number::New(env, static_cast<double>(agent.drops)));
    row.Set("class", Napi::Number::New(env, agent.record_class));
    row.Set("records", Napi::Number::New(env, static_cast<double>(agent.records)));
    row.Set("bytes", Napi::Number::New(env, static_cast<double>(agent.bytes)));
    row.Set("ratePerS", Napi::Number::New(env, agent.rate_per_s));
    row.Set("silentMs", Napi::Number::New(env, static_cast<double>(agent.silent_us / 1000)));
    row.Set("address", agent.address);
    row.Set("bridge", agent.bridge);
    rows.Set(rows.Length(), row);
  }
  return rows;
}

}  // namespace seganet::binding
