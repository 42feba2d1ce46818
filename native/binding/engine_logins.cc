// JavaScript's Engine: logins, and device connections that terminate in JavaScript.
#include <optional>
#include <string>
#include <utility>

#include "binding/device_stream.h"
#include "binding/engine_wrap.h"
#include "binding/node/args.h"
#include "core/protocol/mqtt/encode.h"
#include "core/record/record.h"

namespace seganet::binding {
namespace {

constexpr size_t kMaxAddressBytes = 256;
constexpr size_t kMaxNoteBytes = 4096;

Napi::Value Text(Napi::Env env, const std::optional<std::string>& text) {
  return text ? Napi::String::New(env, *text) : env.Null();
}

bool ReadDevice(Napi::Env env, Napi::Value value, std::string* device) {
  if (!ReadString(env, value, "device", device)) return false;
  return (!device->empty() && device->size() <= kMaxDeviceBytes) ||
         Fail(env, "device must be 1 to 256 bytes");
}

bool ReadPeer(Napi::Env env, Napi::Value value, StreamPeer* peer) {
  if (!value.IsObject()) return Fail(env, "peer must be an object");
  const auto object = value.As<Napi::Object>();
  if (!ReadString(env, object.Get("address"), "address", &peer->address)) return false;
  if (peer->address.size() > kMaxAddressBytes) {
    return Fail(env, "address must be at most 256 bytes");
  }
  const Napi::Value note = object.Get("note");
  if (note.IsEmpty()) return false;
  if (!note.IsUndefined() && !ReadString(env, note, "note", &peer->note)) return false;
  if (peer->note.size() > kMaxNoteBytes) return Fail(env, "note must be at most 4096 bytes");
  const Napi::Value device = object.Get("device");
  if (device.IsEmpty()) return false;
  return device.IsUndefined() || ReadDevice(env, device, &peer->device);
}

}  // namespace

Napi::Value EngineWrap::TakeLogins(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  uint32_t limit = 0;
  if (!ReadInt<uint32_t>(env, info[0], "limit", 1, 10'000, &limit)) return env.Undefined();
  Napi::Array logins = Napi::Array::New(env);
  for (const LoginRequest& request : handle_->engine.TakeLogins(limit)) {
    const Napi::HandleScope scope(env);
    Napi::Object login = Napi::Object::New(env);
    login.Set("id", Napi::Number::New(env, static_cast<double>(request.id)));
    login.Set("stage", Napi::Number::New(env, request.stage));
    login.Set("clientId", Napi::String::New(env, request.client_id));
    login.Set("user", Text(env, request.user));
    login.Set("password", request.password ? Napi::Buffer<char>::Copy(env, request.password->data(),
                                                                      request.password->size())
                                           : env.Null());
    login.Set("address", Napi::String::New(env, request.address));
    logins.Set(logins.Length(), login);
  }
  return logins;
}

Napi::Value EngineWrap::AnswerLogin(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  double id = 0;
  std::optional<std::string> device;
  if (!ReadNumber(env, info[0], "id", 1, kMaxSafeInteger, &id)) return env.Undefined();
  if (!info[1].IsNull() && !ReadDevice(env, info[1], &device.emplace())) return env.Undefined();
  return Napi::Boolean::New(
      env, handle_->engine.AnswerLogin(static_cast<uint64_t>(id), std::move(device)));
}

Napi::Value EngineWrap::DismissDevice(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  std::string device;
  if (!ReadDevice(env, info[0], &device)) return env.Undefined();
  std::optional<std::string> server;
  if (!info[1].IsUndefined()) {
    if (!ReadString(env, info[1], "server", &server.emplace())) return env.Undefined();
    if (server->size() > mqtt::kMostServerReferenceBytes) {
      Fail(env, "server must have at most " + std::to_string(mqtt::kMostServerReferenceBytes) +
                    " bytes");
      return env.Undefined();
    }
  }
  return Napi::Boolean::New(env, handle_->engine.DismissDevice(device, server));
}

Napi::Value EngineWrap::TakeOverDevice(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  std::string device;
  if (!ReadDevice(env, info[0], &device)) return env.Undefined();
  return Napi::Boolean::New(env, handle_->engine.TakeOverDevice(device));
}

Napi::Value OpenDeviceStream(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  uint32_t token = 0;
  uint32_t stage = 0;
  StreamPeer peer;
  if (!ReadInt<uint32_t>(env, info[0], "token", 0, UINT32_MAX, &token) ||
      !ReadInt<uint32_t>(env, info[1], "stage", 1, UINT32_MAX, &stage) ||
      !ReadPeer(env, info[2], &peer)) {
    return env.Undefined();
  }
  const auto handle = FindEngine(token);
  int fd = -1;
  const Status status = handle ? handle->engine.OpenStream(stage, peer, &fd)
                               : Status::System("the engine is closed", ENOTCONN);
  if (!status.ok()) {
    Throw(env, status);
    return env.Undefined();
  }
  return Napi::Number::New(env, fd);
}

}  // namespace seganet::binding
