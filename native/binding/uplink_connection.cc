#include "binding/uplink_connection.h"

#include <climits>

#include "binding/broker_reader_wrap.h"
#include "binding/node/args.h"
#include "binding/node/environment.h"
#include "binding/uplink_options.h"

namespace seganet::binding {
namespace {

// Returns null if an exception is pending.
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

Napi::Function UplinkConnection::Define(Napi::Env env) {
  return DefineClass(env, "UplinkConnection",
                     {InstanceMethod<&UplinkConnection::Write>("write"),
                      InstanceMethod<&UplinkConnection::Pause>("pause"),
                      InstanceMethod<&UplinkConnection::Finish>("finish"),
                      InstanceMethod<&UplinkConnection::Close>("close"),
                      InstanceMethod<&UplinkConnection::Describe>("describe"),
                      InstanceMethod<&UplinkConnection::Enter>("enter"),
                      InstanceMethod<&UplinkConnection::Leave>("leave"),
                      InstanceMethod<&UplinkConnection::Numbers>("numbers"),
                      StaticMethod<&UplinkConnection::CheckTls>("checkTls"),
                      StaticValue("hasTls", Napi::Boolean::New(env, TlsContext::Available()))});
}

void UplinkConnection::CheckTls(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsObject()) {
    Napi::TypeError::New(env, "tls must be an object").ThrowAsJavaScriptException();
    return;
  }
  ReadContext(env, info[0].As<Napi::Object>());
}

UplinkConnection::UplinkConnection(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<UplinkConnection>(info) {
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
  // A wrong type must not turn off encryption.
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
  const Status status = Connection::Make(loop, fd, std::move(tls), this, &connection_);
  if (!status.ok()) {
    Throw(env, status);
    return;
  }
  connection_->UseTurn(std::shared_ptr<TurnLock>(line_, &line_->turn()));
  Environment::Of(env)->open_sockets.Forget(fd);
  handlers_ = Napi::Persistent(handlers);
  Ref();
  napi_add_async_cleanup_hook(env, OnEnvironmentEnd, this, &hook_);
}

UplinkConnection::~UplinkConnection() { LeaveExpress(); }

// The object is deleted soon after this, with its environment; closing the socket's handle still
// needs the loop.
void UplinkConnection::OnEnvironmentEnd(napi_async_cleanup_hook_handle hook, void* self) {
  auto* connection = static_cast<UplinkConnection*>(self);
  const std::shared_ptr<DirectLine> line = connection->line_;
  const Hold lock(line->turn());
  connection->LeaveExpress();
  if (!connection->connection_) return;
  std::exchange(connection->connection_, nullptr)->Close([hook] {
    napi_remove_async_cleanup_hook(hook);
  });
}

// Keeps the in-flight window for leave(): JavaScript learns of a lost connection only then.
void UplinkConnection::CloseNow() {
  const Hold hold(line_->turn());
  StopExpress();
  if (!connection_) return;
  const napi_async_cleanup_hook_handle hook = hook_;
  std::exchange(connection_, nullptr)->Close([hook] { napi_remove_async_cleanup_hook(hook); });
  handlers_.Reset();
  Unref();
}

void UplinkConnection::Close(const Napi::CallbackInfo&) { CloseNow(); }

Napi::Value UplinkConnection::Write(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Uint8Array bytes;
  if (!ReadBytes(env, info[0], "bytes", &bytes)) return env.Undefined();
  const Hold hold(line_->turn());
  if (!connection_) return Napi::Boolean::New(env, true);
  connection_->Write({reinterpret_cast<const char*>(bytes.Data()), bytes.ByteLength()});
  return Napi::Boolean::New(env, connection_->unsent() == 0);
}

void UplinkConnection::Pause(const Napi::CallbackInfo& info) {
  const Hold hold(line_->turn());
  if (connection_) connection_->Pause(info[0].ToBoolean().Value());
}

void UplinkConnection::Finish(const Napi::CallbackInfo&) {
  const Hold hold(line_->turn());
  if (connection_) connection_->Finish();
}

Napi::Value UplinkConnection::Describe(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const Hold hold(line_->turn());
  if (!connection_) return env.Null();
  Napi::Object about = Napi::Object::New(env);
  about.Set("fd", connection_->fd());
  if (const TlsClient* tls = connection_->tls()) {
    const std::string der = tls->PeerCertificate();
    about.Set("certificate", Napi::Buffer<char>::Copy(env, der.data(), der.size()));
    about.Set("protocol", tls->protocol());
  }
  return about;
}

void UplinkConnection::CallHandler(const char* name, std::initializer_list<napi_value> args) {
  if (handlers_.IsEmpty()) return;
  CallFromLoop(Env(), handlers_.Get(name).As<Napi::Function>(), args);
}

void UplinkConnection::OnOpen() {
  const Napi::HandleScope scope(Env());
  CallHandler("onOpen", {});
}

void UplinkConnection::OnDrained() {
  if (turns_) turns_->Ask();
  const Napi::HandleScope scope(Env());
  CallHandler("onDrain", {});
}

void UplinkConnection::OnEnd(const TlsFailure& why) {
  const Napi::HandleScope scope(Env());
  CallHandler("onEnd", {Napi::String::New(Env(), why.code), Napi::String::New(Env(), why.message)});
}

void UplinkConnection::OnOther(std::span<const uint8_t> bytes) {
  others_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void UplinkConnection::OnData(std::span<const uint8_t> bytes) {
  if (!taps_pubacks_) {
    const Napi::HandleScope scope(Env());
    CallHandler("onBytes", {Napi::Buffer<uint8_t>::Copy(Env(), bytes.data(), bytes.size())});
    return;
  }
  reader_.Read(bytes, this);
  if (turns_) turns_->Ask();
  if (leave_reason_ == LeaveReason::kNone && pubacks_.empty() && others_.empty()) return;
  const Napi::Env env = Env();
  const Napi::HandleScope scope(env);
  // A handler may close this object and release it.
  [[maybe_unused]] const Napi::Value self = Value();
  // First, so that JavaScript knows the packets that are acknowledged next.
  if (const LeaveReason reason = std::exchange(leave_reason_, LeaveReason::kNone);
      reason != LeaveReason::kNone) {
    CallOnLeave(reason);
  }
  if (!pubacks_.empty()) {
    const Napi::Uint16Array pairs = PairsOf(env, pubacks_);
    if (pairs.IsEmpty()) return;  // the environment is ending
    pubacks_.clear();
    CallHandler("onPubacks", {pairs});
  }
  if (!others_.empty()) {
    const auto rest = Napi::Buffer<char>::Copy(env, others_.data(), others_.size());
    others_.clear();
    CallHandler("onBytes", {rest});
  }
}

}  // namespace seganet::binding
