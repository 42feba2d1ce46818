#include "binding/uplink_connection.h"

#include <climits>

#include "binding/node/args.h"
#include "binding/node/environment.h"
#include "binding/uplink_options.h"

namespace seganet::binding {
namespace {

// Null: an exception is pending.
std::shared_ptr<TlsContext> ReadContext(Napi::Env env, Napi::Object from) {
  TlsOptions options;
  if (!ReadTlsOptions(env, from, &options)) return nullptr;
  std::shared_ptr<TlsContext> context;
  TlsFailure why;
  if (Environment::Of(env)->tls.Get(std::move(options), &context, &why)) return context;
  Napi::Error error = Napi::Error::New(env, why.message);
  error.Set("code", why.code);
  error.ThrowAsJavaScriptException();
  return nullptr;
}

}  // namespace

Napi::Function UplinkWire::Define(Napi::Env env) {
  return DefineClass(
      env, "UplinkWire",
      {InstanceMethod<&UplinkWire::Write>("write"), InstanceMethod<&UplinkWire::Pause>("pause"),
       InstanceMethod<&UplinkWire::Finish>("finish"), InstanceMethod<&UplinkWire::Close>("close"),
       InstanceMethod<&UplinkWire::Describe>("describe"),
       InstanceMethod<&UplinkWire::Board>("board"), InstanceMethod<&UplinkWire::Land>("land"),
       InstanceMethod<&UplinkWire::Numbers>("numbers"),
       StaticMethod<&UplinkWire::CheckTls>("checkTls"),
       StaticValue("hasTls", Napi::Boolean::New(env, TlsContext::Available()))});
}

void UplinkWire::CheckTls(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsObject()) {
    Napi::TypeError::New(env, "tls must be an object").ThrowAsJavaScriptException();
    return;
  }
  ReadContext(env, info[0].As<Napi::Object>());
}

UplinkWire::UplinkWire(const Napi::CallbackInfo& info) : Napi::ObjectWrap<UplinkWire>(info) {
  const Napi::Env env = info.Env();
  int fd = -1;
  if (!ReadInt(env, info[0], "fd", 0, INT_MAX, &fd)) return;
  if (!info[2].IsObject()) {
    Napi::TypeError::New(env, "handlers must be an object").ThrowAsJavaScriptException();
    return;
  }
  const auto handlers = info[2].As<Napi::Object>();
  const Napi::Value on_pubacks = handlers.Get("onPubacks");
  if (on_pubacks.IsEmpty()) return;
  taps_pubacks_ = on_pubacks.IsFunction();
  // What is meant to be encrypted must not go out as it stands.
  if (!info[1].IsNull() && !info[1].IsObject()) {
    Napi::TypeError::New(env, "tls must be an object or null").ThrowAsJavaScriptException();
    return;
  }
  std::unique_ptr<TlsClient> tls;
  if (info[1].IsObject()) {
    std::shared_ptr<TlsContext> context = ReadContext(env, info[1].As<Napi::Object>());
    if (!context) return;
    tls = std::make_unique<TlsClient>(std::move(context));
  }
  uv_loop_t* loop = nullptr;
  napi_get_uv_event_loop(env, &loop);
  const Status status = Wire::Make(loop, fd, std::move(tls), this, &wire_);
  if (!status.ok()) {
    Throw(env, status);
    return;
  }
  Environment::Of(env)->open_sockets.Forget(fd);
  handlers_ = Napi::Persistent(handlers);
  Ref();
  napi_add_async_cleanup_hook(env, OnEnvironmentEnd, this, &hook_);
}

UplinkWire::~UplinkWire() { LeaveExpress(); }

// The object is no more soon after, with its environment; the socket's handle needs the loop.
void UplinkWire::OnEnvironmentEnd(napi_async_cleanup_hook_handle hook, void* self) {
  auto* wire = static_cast<UplinkWire*>(self);
  wire->LeaveExpress();
  if (!wire->wire_) return;
  std::exchange(wire->wire_, nullptr)->Close([hook] { napi_remove_async_cleanup_hook(hook); });
}

// What is in flight is kept for land(): JavaScript hears of a lost connection only then.
void UplinkWire::CloseNow() {
  StopExpress();
  if (!wire_) return;
  const napi_async_cleanup_hook_handle hook = hook_;
  std::exchange(wire_, nullptr)->Close([hook] { napi_remove_async_cleanup_hook(hook); });
  handlers_.Reset();
  Unref();
}

void UplinkWire::Close(const Napi::CallbackInfo&) { CloseNow(); }

Napi::Value UplinkWire::Write(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Uint8Array bytes;
  if (!ReadBytes(env, info[0], "bytes", &bytes)) return env.Undefined();
  if (!wire_) return Napi::Boolean::New(env, true);
  wire_->Write({reinterpret_cast<const char*>(bytes.Data()), bytes.ByteLength()});
  return Napi::Boolean::New(env, wire_->unsent() == 0);
}

void UplinkWire::Pause(const Napi::CallbackInfo& info) {
  if (wire_) wire_->Pause(info[0].ToBoolean().Value());
}

void UplinkWire::Finish(const Napi::CallbackInfo&) {
  if (wire_) wire_->Finish();
}

Napi::Value UplinkWire::Describe(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!wire_) return env.Null();
  Napi::Object about = Napi::Object::New(env);
  about.Set("fd", wire_->fd());
  if (const TlsClient* tls = wire_->tls()) {
    const std::string der = tls->PeerCertificate();
    about.Set("certificate", Napi::Buffer<char>::Copy(env, der.data(), der.size()));
    about.Set("protocol", tls->protocol());
  }
  return about;
}

void UplinkWire::Tell(const char* name, std::initializer_list<napi_value> args) {
  if (handlers_.IsEmpty()) return;
  CallFromLoop(Env(), handlers_.Get(name).As<Napi::Function>(), args);
}

void UplinkWire::OnOpen() {
  const Napi::HandleScope scope(Env());
  Tell("onOpen", {});
}

void UplinkWire::OnDrained() {
  if (turns_) turns_->Ask();
  const Napi::HandleScope scope(Env());
  Tell("onDrain", {});
}

void UplinkWire::OnEnd(const TlsFailure& why) {
  const Napi::HandleScope scope(Env());
  Tell("onEnd", {Napi::String::New(Env(), why.code), Napi::String::New(Env(), why.message)});
}

void UplinkWire::OnOther(std::span<const uint8_t> bytes) {
  others_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void UplinkWire::OnData(std::span<const uint8_t> bytes) {
  if (!taps_pubacks_) {
    const Napi::HandleScope scope(Env());
    Tell("onBytes", {Napi::Buffer<uint8_t>::Copy(Env(), bytes.data(), bytes.size())});
    return;
  }
  reader_.Read(bytes, this);
  if (turns_) turns_->Ask();
  if (rough_ == Rough::kNone && pubacks_.empty() && others_.empty()) return;
  const Napi::Env env = Env();
  const Napi::HandleScope scope(env);
  // A handler may close this, and let go of it.
  const Napi::Value self = Value();
  // First, so that JavaScript knows the packets that are acknowledged then.
  if (const Rough rough = std::exchange(rough_, Rough::kNone); rough != Rough::kNone) {
    TellRough(rough);
  }
  if (!pubacks_.empty()) {
    Napi::Uint16Array pairs = Napi::Uint16Array::New(env, pubacks_.size() * 2);
    if (pairs.IsEmpty()) return;  // the environment ends
    for (size_t i = 0; i < pubacks_.size(); ++i) {
      pairs[2 * i] = pubacks_[i].first;
      pairs[2 * i + 1] = pubacks_[i].second;
    }
    pubacks_.clear();
    Tell("onPubacks", {pairs});
  }
  if (!others_.empty()) {
    const auto rest = Napi::Buffer<char>::Copy(env, others_.data(), others_.size());
    others_.clear();
    Tell("onBytes", {rest});
  }
}

}  // namespace seganet::binding
