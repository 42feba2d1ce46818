#include "binding/in_flight_window_wrap.h"

#include <limits>

#include "binding/node/args.h"

namespace seganet::binding {
namespace {

constexpr napi_type_tag kWindowTag = {0x92e0f7c41d3b4a58, 0xb06f35d8ea214c70};
constexpr int64_t kUsPerMs = 1000;

bool ReadFlag(const Napi::CallbackInfo& info, size_t at) { return info[at].ToBoolean().Value(); }

// Throws if there is no packet with this identifier in flight.
void ThrowNotInFlight(Napi::Env env) {
  Napi::Error::New(env, "no packet with this identifier is in flight").ThrowAsJavaScriptException();
}

Napi::Value NumberOf(const Napi::CallbackInfo& info, uint32_t value) {
  return Napi::Number::New(info.Env(), value);
}

}  // namespace

Napi::Function InFlightWindowWrap::Define(Napi::Env env) {
  using Self = InFlightWindowWrap;
  return DefineClass(
      env, "InFlightWindow",
      {InstanceMethod<&Self::SetLimit>("setLimit"), InstanceMethod<&Self::SetCeiling>("setCeiling"),
       InstanceMethod<&Self::Room>("room"), InstanceMethod<&Self::Wait>("wait"),
       InstanceMethod<&Self::EndWait>("endWait"), InstanceMethod<&Self::Open>("open"),
       InstanceMethod<&Self::IsOpen>("isOpen"), InstanceMethod<&Self::Close>("close"),
       InstanceMethod<&Self::Abandon>("abandon"), InstanceMethod<&Self::Reset>("reset"),
       InstanceMethod<&Self::Oldest>("oldest"), InstanceMethod<&Self::IsPassed>("isPassed"),
       InstanceMethod<&Self::SentAt>("sentAt"), InstanceMethod<&Self::Ids>("ids"),
       InstanceAccessor<&Self::Inflight>("inflight"), InstanceAccessor<&Self::Waiting>("waiting"),
       InstanceAccessor<&Self::Backlog>("backlog")});
}

InFlightWindowWrap::InFlightWindowWrap(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<InFlightWindowWrap>(info) {
  uint32_t places = 1, reserved = 0;
  if (!ReadInt<uint32_t>(info.Env(), info[0], "places", 1, InFlightWindow::kMaxWindow, &places) ||
      !ReadInt<uint32_t>(info.Env(), info[1], "reserved", 0, UINT32_MAX, &reserved)) {
    return;
  }
  window_ = std::make_shared<InFlightWindow>(places, reserved);
  info.This().As<Napi::Object>().TypeTag(&kWindowTag);
}

InFlightWindowWrap* InFlightWindowWrap::From(Napi::Value value) {
  if (!value.IsObject() || !value.As<Napi::Object>().CheckTypeTag(&kWindowTag)) return nullptr;
  return Unwrap(value.As<Napi::Object>());
}

std::unique_lock<TurnLock> InFlightWindowWrap::Hold() const {
  return turn_ ? std::unique_lock(*turn_) : std::unique_lock<TurnLock>();
}

void InFlightWindowWrap::Abandon(const Napi::CallbackInfo&) {
  const auto hold = Hold();
  window_->Abandon();
}

void InFlightWindowWrap::Reset(const Napi::CallbackInfo&) {
  const auto hold = Hold();
  window_->Reset();
}

void InFlightWindowWrap::SetLimit(const Napi::CallbackInfo& info) {
  const auto hold = Hold();
  uint32_t limit = 0, reserved = 0;
  if (ReadInt<uint32_t>(info.Env(), info[0], "limit", 1, UINT32_MAX, &limit) &&
      ReadInt<uint32_t>(info.Env(), info[1], "reserved", 0, UINT32_MAX, &reserved)) {
    window_->SetLimit(limit, reserved);
  }
}

void InFlightWindowWrap::SetCeiling(const Napi::CallbackInfo& info) {
  const auto hold = Hold();
  uint32_t ceiling = InFlightWindow::kNoCeiling, reserved = 0;
  if ((info[0].IsNull() ||
       ReadInt<uint32_t>(info.Env(), info[0], "ceiling", 1, UINT32_MAX, &ceiling)) &&
      ReadInt<uint32_t>(info.Env(), info[1], "reserved", 0, UINT32_MAX, &reserved)) {
    window_->SetCeiling(ceiling, reserved);
  }
}

Napi::Value InFlightWindowWrap::Room(const Napi::CallbackInfo& info) {
  const auto hold = Hold();
  return NumberOf(info, window_->Room(ReadFlag(info, 0)));
}

void InFlightWindowWrap::Wait(const Napi::CallbackInfo& info) {
  const auto hold = Hold();
  window_->Wait(ReadFlag(info, 0), ReadFlag(info, 1));
}

void InFlightWindowWrap::EndWait(const Napi::CallbackInfo& info) {
  const auto hold = Hold();
  if (window_->waiting() > 0) {
    window_->EndWait(ReadFlag(info, 0), ReadFlag(info, 1));
  } else {
    Napi::Error::New(info.Env(), "no packet waits").ThrowAsJavaScriptException();
  }
}

Napi::Value InFlightWindowWrap::Open(const Napi::CallbackInfo& info) {
  const auto hold = Hold();
  const Napi::Env env = info.Env();
  double batch = 0;
  Flight flight;
  if (!ReadNumber(env, info[0], "batch", 0, kMaxSafeInteger, &batch) ||
      !ReadInt<uint32_t>(env, info[1], "bytes", 0, UINT32_MAX, &flight.bytes)) {
    return env.Undefined();
  }
  // Not always whole.
  flight.sent_us = static_cast<int64_t>(info[2].ToNumber().DoubleValue() * kUsPerMs);
  flight.batch = static_cast<uint64_t>(batch);
  flight.is_urgent = ReadFlag(info, 3);
  flight.is_backlog = ReadFlag(info, 4);
  if (window_->Room(flight.is_urgent) == 0) {
    Napi::Error::New(env, "the window has no room").ThrowAsJavaScriptException();
    return env.Undefined();
  }
  return NumberOf(info, window_->Open(flight));
}

const Flight* InFlightWindowWrap::FlightOf(const Napi::CallbackInfo& info, uint16_t* id) const {
  if (!ReadInt<uint16_t>(info.Env(), info[0], "id", 0, UINT16_MAX, id)) return nullptr;
  const Flight* flight = window_->Find(*id);
  if (flight == nullptr) ThrowNotInFlight(info.Env());
  return flight;
}

Napi::Value InFlightWindowWrap::IsOpen(const Napi::CallbackInfo& info) {
  const auto hold = Hold();
  uint16_t id = 0;
  if (!ReadInt<uint16_t>(info.Env(), info[0], "id", 0, UINT16_MAX, &id)) {
    return info.Env().Undefined();
  }
  return Napi::Boolean::New(info.Env(), window_->Find(id) != nullptr);
}

void InFlightWindowWrap::Close(const Napi::CallbackInfo& info) {
  const auto hold = Hold();
  uint16_t id = 0;
  if (FlightOf(info, &id) != nullptr) window_->Close(id);
}

Napi::Value InFlightWindowWrap::Oldest(const Napi::CallbackInfo& info) {
  const auto hold = Hold();
  return NumberOf(info, window_->OldestId());
}

Napi::Value InFlightWindowWrap::IsPassed(const Napi::CallbackInfo& info) {
  const auto hold = Hold();
  uint16_t id = 0;
  const Flight* flight = FlightOf(info, &id);
  if (flight == nullptr) return info.Env().Undefined();
  return Napi::Boolean::New(info.Env(), window_->IsPassed(*flight));
}

Napi::Value InFlightWindowWrap::SentAt(const Napi::CallbackInfo& info) {
  const auto hold = Hold();
  uint16_t id = 0;
  const Flight* flight = FlightOf(info, &id);
  if (flight == nullptr) return info.Env().Undefined();
  return Napi::Number::New(info.Env(), static_cast<double>(flight->sent_us) / kUsPerMs);
}

// Returns the identifiers of all packets in flight, in the order of sending.
Napi::Value InFlightWindowWrap::Ids(const Napi::CallbackInfo& info) {
  const auto hold = Hold();
  const auto list = window_->List();
  Napi::Uint16Array ids = Napi::Uint16Array::New(info.Env(), list.size());
  for (size_t i = 0; i < list.size(); ++i) ids[i] = list[i].id;
  return ids;
}

Napi::Value InFlightWindowWrap::Inflight(const Napi::CallbackInfo& info) {
  const auto hold = Hold();
  return NumberOf(info, window_->open());
}
Napi::Value InFlightWindowWrap::Waiting(const Napi::CallbackInfo& info) {
  const auto hold = Hold();
  return NumberOf(info, window_->waiting());
}
Napi::Value InFlightWindowWrap::Backlog(const Napi::CallbackInfo& info) {
  const auto hold = Hold();
  return NumberOf(info, window_->backlog());
}

}  // namespace seganet::binding
