#include "binding/source_wrap.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "binding/batch_meta.h"
#include "binding/node/args.h"
#include "core/base/clock.h"

namespace seganet::binding {
namespace {

// Much more than a message can have.
constexpr uint32_t kMaxCostBytes = 1u << 30;
constexpr napi_type_tag kSourceTag = {0x5e6a4e7a9b1c4d52, 0x8f3b21c67d904ae1};

// Reads an array of classes; absent keeps `*classes`.
bool ReadClasses(Napi::Env env, Napi::Value value, ClassMask* classes) {
  if (value.IsUndefined()) return true;
  if (!value.IsArray() || value.As<Napi::Array>().Length() == 0) {
    Napi::TypeError::New(env, "classes must be an array of classes, at least one")
        .ThrowAsJavaScriptException();
    return false;
  }
  const auto list = value.As<Napi::Array>();
  *classes = 0;
  for (uint32_t i = 0; i < list.Length(); ++i) {
    uint8_t c = 0;
    if (!ReadInt<uint8_t>(env, list.Get(i), "classes", kCritical, kClasses, &c)) return false;
    *classes |= MaskOf(c);
  }
  return true;
}

bool ReadRefusal(const Napi::CallbackInfo& info, Refusal* refusal) {
  const Napi::Env env = info.Env();
  if (info[1].IsUndefined()) return true;
  if (!info[1].IsArray()) {
    Napi::TypeError::New(env, "refused must be an array of record indices")
        .ThrowAsJavaScriptException();
    return false;
  }
  const auto refused = info[1].As<Napi::Array>();
  for (uint32_t i = 0; i < refused.Length(); ++i) {
    uint32_t index = 0;
    if (!ReadInt<uint32_t>(env, refused.Get(i), "refused", 0, UINT32_MAX, &index)) return false;
    refusal->records.push_back(index);
  }
  std::sort(refusal->records.begin(), refusal->records.end());
  return (info[2].IsUndefined() ||
          ReadInt<uint32_t>(env, info[2], "code", 0, UINT32_MAX, &refusal->code)) &&
         (info[3].IsUndefined() || ReadString(env, info[3], "reason", &refusal->reason));
}

}  // namespace

Napi::Function SourceWrap::Define(Napi::Env env) {
  return DefineClass(
      env, "UplinkSource",
      {InstanceMethod<&SourceWrap::Connected>("connected"),
       InstanceMethod<&SourceWrap::Best>("best"),
       InstanceMethod<&SourceWrap::BestBacklog>("bestBacklog"),
       InstanceMethod<&SourceWrap::RetryMs>("retryMs"),
       InstanceMethod<&SourceWrap::OldestMs>("oldestMs"),
       InstanceMethod<&SourceWrap::WaitingAt>("waitingAt"),
       InstanceMethod<&SourceWrap::WakeAll>("wakeAll"),
       InstanceMethod<&SourceWrap::RaiseDemand>("demand"),
       InstanceMethod<&SourceWrap::SetBatchBytes>("setBatchBytes"),
       InstanceMethod<&SourceWrap::SetCost>("setCost"), InstanceMethod<&SourceWrap::Take>("take"),
       InstanceMethod<&SourceWrap::Look>("look"), InstanceMethod<&SourceWrap::Release>("release"),
       InstanceMethod<&SourceWrap::IsTaken>("isTaken"),
       InstanceMethod<&SourceWrap::Copies>("copies"), InstanceMethod<&SourceWrap::Close>("close")});
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
  ClassMask classes = kAllClasses;
  if (!ReadClasses(env, info[3], &classes)) return;
  handle_ = FindEngine(token);
  if (!handle_) {
    Throw(env, Status::Closed("no open engine has the token " + std::to_string(token)));
    return;
  }
  info.This().As<Napi::Object>().TypeTag(&kSourceTag);
  bell_.Open(env, info[2].As<Napi::Function>());
  std::shared_ptr<Lanes> lanes = handle_->engine.LanesOf(uplink);
  const bool is_second = info[5].ToBoolean().Value();
  outlet_ = is_second ? lanes->AttachSecond(&bell_)
                      : lanes->Attach(&bell_, classes, info[4].ToBoolean().Value());
  if (outlet_ == nullptr) {
    bell_.Disconnect();
    Throw(env,
          Status::InvalidArgument("uplink " + std::to_string(uplink) +
                                  (is_second ? " has no first source of class 1, or two"
                                             : " is already served, or one of the classes is")));
    return;
  }
  lanes_ = std::move(lanes);
  has_hook_ = true;
  // If a thread ends without close(), its batches must return to the lanes for the next one.
  napi_add_env_cleanup_hook(env, OnEnvironmentEnd, this);
}

void SourceWrap::OnEnvironmentEnd(void* self) {
  auto* wrap = static_cast<SourceWrap*>(self);
  wrap->has_hook_ = false;
  wrap->CloseNow();
}

SourceWrap::~SourceWrap() {
  if (has_hook_) napi_remove_env_cleanup_hook(Env(), OnEnvironmentEnd, this);
  CloseNow();
}

SourceWrap* SourceWrap::From(Napi::Value value) {
  if (!value.IsObject() || !value.As<Napi::Object>().CheckTypeTag(&kSourceTag)) return nullptr;
  return Unwrap(value.As<Napi::Object>());
}

void SourceWrap::SetUser(LanesUser* user, std::function<void()> on_doorbell) {
  user_ = user;
  bell_.Divert(std::move(on_doorbell));
}

void SourceWrap::CloseNow() {
  if (!lanes_) return;
  if (LanesUser* user = std::exchange(user_, nullptr)) user->OnSourceClosed();
  lanes_->Detach(outlet_);
  lanes_.reset();
  bell_.Disconnect();
}

void SourceWrap::Connected(const Napi::CallbackInfo& info) {
  if (lanes_) lanes_->SetConnected(outlet_, info[0].ToBoolean().Value(), MonotonicUs());
}

Napi::Value SourceWrap::BestBacklog(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), lanes_ ? lanes_->BestBacklog(outlet_, MonotonicUs()) : 0);
}

Napi::Value SourceWrap::RetryMs(const Napi::CallbackInfo& info) {
  const int64_t wait_us = lanes_ ? lanes_->RetryUs(outlet_, MonotonicUs()) : -1;
  return Napi::Number::New(info.Env(),
                           wait_us < 0 ? -1 : static_cast<double>((wait_us + 999) / 1000));
}

Napi::Value SourceWrap::WaitingAt(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), lanes_ ? lanes_->WaitingAt(outlet_, MonotonicUs()) : 0);
}

void SourceWrap::WakeAll(const Napi::CallbackInfo&) {
  if (lanes_) lanes_->WakeAll(outlet_);
}

void SourceWrap::RaiseDemand(const Napi::CallbackInfo&) {
  if (lanes_) lanes_->RaiseDemand(outlet_, MonotonicUs());
}

void SourceWrap::SetBatchBytes(const Napi::CallbackInfo& info) {
  uint32_t bytes = 0;
  if (!ReadInt(info.Env(), info[0], "bytes", kMinBatchBytes, kMaxAdaptiveBytes, &bytes)) return;
  if (lanes_) lanes_->SetBatchBytes(outlet_, bytes);
}

Napi::Value SourceWrap::SetCost(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  uint32_t head = 0, record = 0;
  if (!ReadInt(env, info[1], "headBytes", 0u, kMaxCostBytes, &head) ||
      !ReadInt(env, info[2], "recordBytes", 0u, kMaxCostBytes, &record)) {
    return env.Undefined();
  }
  if (!lanes_) return Napi::Boolean::New(env, false);
  lanes_->SetCost(outlet_, info[0].ToBoolean().Value(), head, record);
  return Napi::Boolean::New(env, lanes_->demand()->has_savers());
}

Napi::Value SourceWrap::OldestMs(const Napi::CallbackInfo& info) {
  const int64_t oldest_us = lanes_ ? lanes_->OldestUs(outlet_, MonotonicUs()) : -1;
  return Napi::Number::New(info.Env(), oldest_us < 0 ? -1 : static_cast<double>(oldest_us) / 1000);
}

// Returns the class mask for an optional `onlyCritical` argument.
static ClassMask ReadOnlyCritical(Napi::Value only_critical) {
  return only_critical.ToBoolean().Value() ? MaskOf(kCritical) : kAllClasses;
}

Napi::Value SourceWrap::Best(const Napi::CallbackInfo& info) {
  if (!lanes_) return Napi::Number::New(info.Env(), 0);
  bell_.Answer();
  return Napi::Number::New(info.Env(),
                           lanes_->Best(outlet_, MonotonicUs(), ReadOnlyCritical(info[0])));
}

// The destination of a batch: its bytes and its header.
struct Place {
  uint8_t* bytes;
  size_t capacity;
  double* meta;
};

static bool ReadPlace(const Napi::CallbackInfo& info, size_t at, Place* place) {
  const Napi::Env env = info.Env();
  Napi::Uint8Array into;
  if (!ReadBytes(env, info[at], "into", &into)) return false;
  double* const meta = ReadMeta(env, info[at + 1]);
  if (meta == nullptr) return false;
  *place = {into.Data(), into.ByteLength(), meta};
  return true;
}

// Returns the batch's length, or -(length + 2) if there is no room and nothing was copied.
static double CopyTo(const Place& place, const Batch& batch, const Now& now) {
  const size_t size = batch.bytes.size();
  if (size > place.capacity) return -static_cast<double>(size) - 2;
  if (size > 0) std::memcpy(place.bytes, batch.bytes.data(), size);
  WriteMeta(batch, now, place.meta);
  return static_cast<double>(size);
}

Napi::Value SourceWrap::Take(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Place place;
  if (!ReadPlace(info, 0, &place)) return env.Undefined();
  if (!lanes_) return Napi::Number::New(env, -1);
  bell_.Answer();
  double result = -1;
  const Now now = Now::Read();
  const auto copy = [&](const Batch& batch) { return (result = CopyTo(place, batch, now)) >= 0; };
  lanes_->Take(outlet_, now.mono_us, copy, info[2].ToBoolean().Value(), ReadOnlyCritical(info[3]));
  return Napi::Number::New(env, result);
}

Napi::Value SourceWrap::Look(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  double id = 0;
  Place place;
  if (!ReadNumber(env, info[0], "id", 0, kMaxSafeInteger, &id) || !ReadPlace(info, 1, &place)) {
    return env.Undefined();
  }
  double result = -1;
  const Now now = Now::Read();
  const auto copy = [&](const Batch& batch) { result = CopyTo(place, batch, now); };
  if (lanes_) lanes_->Look(outlet_, static_cast<uint64_t>(id), copy);
  return Napi::Number::New(env, result);
}

Napi::Value SourceWrap::Release(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  double id = 0;
  if (!ReadNumber(env, info[0], "id", 0, kMaxSafeInteger, &id)) return env.Undefined();
  Refusal refusal;
  if (!ReadRefusal(info, &refusal)) return env.Undefined();
  const bool known =
      lanes_ && lanes_->Release(outlet_, static_cast<uint64_t>(id), MonotonicUs(), refusal);
  return Napi::Boolean::New(env, known);
}

Napi::Value SourceWrap::IsTaken(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  double id = 0;
  if (!ReadNumber(env, info[0], "id", 0, kMaxSafeInteger, &id)) return env.Undefined();
  const bool is_taken =
      lanes_ && lanes_->Look(outlet_, static_cast<uint64_t>(id), [](const Batch&) {});
  return Napi::Boolean::New(env, is_taken);
}

Napi::Value SourceWrap::Copies(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const Lanes::Copies copies = lanes_ ? lanes_->copies() : Lanes::Copies{};
  Napi::Object result = Napi::Object::New(env);
  result.Set("sent", static_cast<double>(copies.sent));
  result.Set("leadFirst", static_cast<double>(copies.lead_first));
  result.Set("secondFirst", static_cast<double>(copies.second_first));
  return result;
}

void SourceWrap::Close(const Napi::CallbackInfo&) { CloseNow(); }

}  // namespace seganet::binding
