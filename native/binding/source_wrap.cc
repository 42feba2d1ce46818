#include "binding/source_wrap.h"

#include <cstring>

#include "binding/args.h"
#include "core/base/clock.h"

namespace seganet::binding {
namespace {

constexpr size_t kMetaLength = 12;
constexpr double kMaxId = 9007199254740991.0;  // Number.MAX_SAFE_INTEGER

void WriteMeta(const Batch& batch, double* meta) {
  meta[0] = static_cast<double>(batch.id);
  meta[1] = batch.record_class;
  meta[2] = batch.record_count;
  meta[3] = batch.stage;
  meta[4] = static_cast<double>(batch.kind);
  meta[5] = batch.flags;
  meta[6] = static_cast<double>(batch.first_ts_ms);
  meta[7] = static_cast<double>(batch.last_ts_ms);
  meta[8] = static_cast<double>(batch.reason);
  meta[9] = batch.redelivery ? 1 : 0;
  meta[10] = batch.topic_bytes;
  meta[11] = batch.device_bytes;
}

}  // namespace

Napi::Function SourceWrap::Define(Napi::Env env) {
  return DefineClass(
      env, "UplinkSource",
      {InstanceMethod<&SourceWrap::Best>("best"), InstanceMethod<&SourceWrap::Take>("take"),
       InstanceMethod<&SourceWrap::Release>("release"),
       InstanceMethod<&SourceWrap::Close>("close")});
}

SourceWrap::SourceWrap(const Napi::CallbackInfo& info) : Napi::ObjectWrap<SourceWrap>(info) {
  const Napi::Env env = info.Env();
  uint32_t token = 0, uplink = 0;
  if (!ReadInt<uint32_t>(env, info[0], "token", 0, UINT32_MAX, &token) ||
      !ReadInt<uint32_t>(env, info[1], "uplink", 0, UINT32_MAX, &uplink)) {
    return;
  }
  if (!info[2].IsFunction()) {
    Napi::TypeError::New(env, "onDoorbell must be a function").ThrowAsJavaScriptException();
    return;
  }
  handle_ = FindEngine(token);
  if (!handle_) {
    Throw(env, Status::Closed("no open engine has the token " + std::to_string(token)));
    return;
  }
  bell_.Open(env, info[2].As<Napi::Function>());
  std::shared_ptr<Lanes> lanes = handle_->engine.LanesOf(uplink);
  if (!lanes->Attach(&bell_)) {
    bell_.Disconnect();
    Throw(env, Status::InvalidArgument("uplink " + std::to_string(uplink) + " is served already"));
    return;
  }
  lanes_ = std::move(lanes);
  hooked_ = true;
  // A thread that ends without close() must leave its batches to the next one.
  napi_add_env_cleanup_hook(env, OnEnvironmentEnd, this);
}

void SourceWrap::OnEnvironmentEnd(void* self) {
  auto* wrap = static_cast<SourceWrap*>(self);
  wrap->hooked_ = false;
  wrap->CloseNow();
}

SourceWrap::~SourceWrap() {
  if (hooked_) napi_remove_env_cleanup_hook(Env(), OnEnvironmentEnd, this);
  CloseNow();
}

void SourceWrap::CloseNow() {
  if (!lanes_) return;
  lanes_->Detach();
  lanes_.reset();
  bell_.Disconnect();
}

Napi::Value SourceWrap::Best(const Napi::CallbackInfo& info) {
  if (!lanes_) return Napi::Number::New(info.Env(), 0);
  bell_.Answer();
  return Napi::Number::New(info.Env(), lanes_->Best(MonotonicUs()));
}

Napi::Value SourceWrap::Take(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Uint8Array into;
  if (!ReadBytes(env, info[0], "into", &into)) return env.Undefined();
  if (!info[1].IsTypedArray() ||
      info[1].As<Napi::TypedArray>().TypedArrayType() != napi_float64_array ||
      info[1].As<Napi::TypedArray>().ElementLength() < kMetaLength) {
    Napi::TypeError::New(env, "meta must be a Float64Array of at least 12")
        .ThrowAsJavaScriptException();
    return env.Undefined();
  }
  if (!lanes_) return Napi::Number::New(env, -1);
  bell_.Answer();
  uint8_t* const to = into.Data();
  const size_t capacity = into.ByteLength();
  double* const meta = info[1].As<Napi::Float64Array>().Data();
  double result = -1;
  lanes_->Take(MonotonicUs(), [&](const Batch& batch) {
    const size_t size = batch.bytes.size();
    if (size > capacity) {
      result = -static_cast<double>(size) - 2;
      return false;
    }
    if (size > 0) std::memcpy(to, batch.bytes.data(), size);
    WriteMeta(batch, meta);
    result = static_cast<double>(size);
    return true;
  });
  return Napi::Number::New(env, result);
}

Napi::Value SourceWrap::Release(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  double id = 0;
  if (!ReadNumber(env, info[0], "id", 0, kMaxId, &id)) return env.Undefined();
  const bool known = lanes_ && lanes_->Release(static_cast<uint64_t>(id),
                                               info[1].ToBoolean().Value(), MonotonicUs());
  return Napi::Boolean::New(env, known);
}

void SourceWrap::Close(const Napi::CallbackInfo&) { CloseNow(); }

}  // namespace seganet::binding
