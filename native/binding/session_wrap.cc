#include "binding/session_wrap.h"

#include <string>
#include <string_view>
#include <vector>

#include "binding/node/args.h"

namespace seganet::binding {

Napi::Function SessionWrap::Define(Napi::Env env) {
  return DefineClass(env, "SessionSource",
                     {InstanceMethod<&SessionWrap::Restore>("restore"),
                      InstanceMethod<&SessionWrap::Restored>("restored"),
                      InstanceMethod<&SessionWrap::Restoring>("restoring"),
                      InstanceMethod<&SessionWrap::Take>("take"),
                      InstanceMethod<&SessionWrap::Committed>("committed"),
                      InstanceMethod<&SessionWrap::Waiting>("waiting"),
                      InstanceMethod<&SessionWrap::Disable>("disable"),
                      InstanceMethod<&SessionWrap::Close>("close")});
}

SessionWrap::SessionWrap(const Napi::CallbackInfo& info) : Napi::ObjectWrap<SessionWrap>(info) {
  const Napi::Env env = info.Env();
  uint32_t token = 0;
  if (!ReadInt<uint32_t>(env, info[0], "token", 0, UINT32_MAX, &token)) return;
  if (!info[1].IsFunction()) {
    Napi::TypeError::New(env, "onDoorbell must be a function").ThrowAsJavaScriptException();
    return;
  }
  handle_ = FindEngine(token);
  if (!handle_) {
    Throw(env, Status::Closed("no open engine has the token " + std::to_string(token)));
    return;
  }
  bell_.Open(env, info[1].As<Napi::Function>());
  if (!handle_->engine.sessions().Attach(&bell_)) {
    bell_.Disconnect();
    Throw(env, Status::InvalidArgument("the engine's sessions are already served"));
    return;
  }
  outbox_ = &handle_->engine.sessions();
  has_hook_ = true;
  // A thread that ends without close() must not be rung.
  napi_add_env_cleanup_hook(env, OnEnvironmentEnd, this);
}

void SessionWrap::OnEnvironmentEnd(void* self) {
  auto* wrap = static_cast<SessionWrap*>(self);
  wrap->has_hook_ = false;
  wrap->CloseNow();
}

SessionWrap::~SessionWrap() {
  if (has_hook_) napi_remove_env_cleanup_hook(Env(), OnEnvironmentEnd, this);
  CloseNow();
}

void SessionWrap::CloseNow() {
  if (outbox_ == nullptr) return;
  outbox_->Detach();
  outbox_ = nullptr;
  bell_.Disconnect();
}

Napi::Value SessionWrap::Restore(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsArray() || !info[1].IsBoolean()) {
    Napi::TypeError::New(env, "rows must be an array of Uint8Array, and exact a boolean")
        .ThrowAsJavaScriptException();
    return env.Undefined();
  }
  const auto list = info[0].As<Napi::Array>();
  std::vector<std::string_view> rows;
  for (uint32_t i = 0; i < list.Length(); ++i) {
    Napi::Uint8Array row;
    if (!ReadBytes(env, list.Get(i), "row", &row)) return env.Undefined();
    rows.emplace_back(reinterpret_cast<const char*>(row.Data()), row.ByteLength());
  }
  const Napi::Array results = Napi::Array::New(env, rows.size());
  if (outbox_ == nullptr) return results;
  const std::vector<RestoreResult> each =
      handle_->engine.RestoreSessions(rows, info[1].As<Napi::Boolean>());
  for (uint32_t i = 0; i < each.size(); ++i) {
    results.Set(i, Napi::Number::New(env, static_cast<double>(each[i])));
  }
  return results;
}

void SessionWrap::Restored(const Napi::CallbackInfo&) {
  if (outbox_ != nullptr) outbox_->Restored();
}

Napi::Value SessionWrap::Restoring(const Napi::CallbackInfo& info) {
  const auto state = outbox_ == nullptr ? seganet::Restoring::kRestored : outbox_->restoring();
  return Napi::Number::New(info.Env(), static_cast<double>(state));
}

Napi::Value SessionWrap::Take(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  bell_.Answer();
  if (outbox_ == nullptr) return Napi::Array::New(env);
  const std::vector<SessionWrite>& writes = outbox_->Take();
  const Napi::Array list = Napi::Array::New(env, writes.size());
  for (uint32_t i = 0; i < writes.size(); ++i) {
    const SessionWrite& write = writes[i];
    const Napi::Object item = Napi::Object::New(env);
    item.Set("device", Napi::String::New(env, write.device));
    item.Set("row", write.row.empty()
                        ? env.Null()
                        : Napi::Buffer<char>::Copy(env, write.row.data(), write.row.size()));
    list.Set(i, item);
  }
  return list;
}

void SessionWrap::Committed(const Napi::CallbackInfo&) {
  if (outbox_ != nullptr) outbox_->Committed();
}

Napi::Value SessionWrap::Waiting(const Napi::CallbackInfo& info) {
  const bool is_final = outbox_ != nullptr && outbox_->is_final();
  return Napi::Number::New(info.Env(), is_final ? static_cast<double>(outbox_->waiting()) : -1);
}

void SessionWrap::Disable(const Napi::CallbackInfo&) {
  if (outbox_ != nullptr) outbox_->Disable();
}

void SessionWrap::Close(const Napi::CallbackInfo&) { CloseNow(); }

}  // namespace seganet::binding
