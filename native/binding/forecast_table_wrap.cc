#include "binding/forecast_table_wrap.h"

#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

#include "binding/doubt_name.h"
#include "binding/node/args.h"
#include "binding/plan_reader.h"

namespace seganet::binding {
namespace {

constexpr size_t kWorker = 0;
constexpr size_t kWorkers = 1;

bool ReadKey(const Napi::CallbackInfo& info, std::string* device, std::string* topic) {
  return ReadString(info.Env(), info[0], "device", device) &&
         ReadString(info.Env(), info[1], "topic", topic);
}

Napi::Value FiniteOrNull(Napi::Env env, double number) {
  return std::isfinite(number) ? Napi::Number::New(env, number) : env.Null();
}

}  // namespace

Napi::Function ForecastTableWrap::Define(Napi::Env env) {
  using Self = ForecastTableWrap;
  return DefineClass(
      env, "ForecastTable",
      {InstanceAccessor<&Self::Restored>("restored"), InstanceMethod<&Self::Observe>("observe"),
       InstanceMethod<&Self::Look>("look"), InstanceMethod<&Self::Save>("save")});
}

ForecastTableWrap::ForecastTableWrap(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<ForecastTableWrap>(info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsObject()) {
    Fail(env, "settings must be an object");
    return;
  }
  if (!ReadForecast(env, info[0].As<Napi::Object>(), &options_)) return;
  options_.path = "$";
  options_.restores = true;
  if (const Status status = Validate(options_); !status.ok()) {
    Throw(env, status);
    return;
  }
  Napi::Uint8Array content;
  const bool has_content = !info[1].IsNull() && !info[1].IsUndefined();
  if (has_content && !ReadBytes(env, info[1], "content", &content)) return;
  forecasts_ = std::make_unique<Forecasts>(options_, kWorkers);
  if (has_content) {
    const std::string_view bytes(reinterpret_cast<const char*>(content.Data()),
                                 content.ByteLength());
    size_t at = 0;
    do {
      restored_ = forecasts_->Restore(bytes, &at);
    } while (restored_ == ForecastRestore::kMore);
  }
  forecasts_->Begin();
}

Napi::Value ForecastTableWrap::Restored(const Napi::CallbackInfo& info) {
  const bool is_damaged = restored_ == ForecastRestore::kDamaged;
  return Napi::String::New(info.Env(), is_damaged                             ? "damaged"
                                       : restored_ == ForecastRestore::kOther ? "other"
                                                                              : "done");
}

Napi::Value ForecastTableWrap::Observe(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  std::string device;
  std::string topic;
  double ts_ms = 0;
  if (!ReadKey(info, &device, &topic) ||
      !ReadNumber(env, info[3], "ts", 0, kMaxSafeInteger, &ts_ms)) {
    return env.Undefined();
  }
  const double value = info[2].IsNumber() ? info[2].As<Napi::Number>().DoubleValue() : NAN;
  if (!(std::abs(value) <= kMaxForecastValue)) {
    Fail(env, "value must be a number from -1e30 to 1e30");
    return env.Undefined();
  }
  char text[32];
  const std::to_chars_result end = std::to_chars(text, text + sizeof text, value);
  Record record;
  record.device = device;
  record.topic = topic;
  record.payload = std::string_view(text, static_cast<size_t>(end.ptr - text));
  record.ts_ms = static_cast<int64_t>(ts_ms);
  ForecastVerdict verdict;
  return Napi::Boolean::New(env, forecasts_->Score(kWorker, options_, record, &verdict));
}

Napi::Value ForecastTableWrap::Look(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  std::string device;
  std::string topic;
  double at = 0;
  if (!ReadKey(info, &device, &topic) || !ReadNumber(env, info[2], "at", 0, kMaxSafeInteger, &at)) {
    return env.Undefined();
  }
  const uint64_t key = forecasts_->KeyOf(device, topic);
  ForecastView view;
  forecasts_->Look(kWorker, key, &view);
  forecasts_->Look(kWorkers, key, &view);  // a series of the content that has had no value yet
  if (!view.is_known) return env.Null();
  const SeasonModel& model = forecasts_->model();
  const auto at_ms = static_cast<int64_t>(at);
  // As if the time until then had passed without a value.
  model.GoTo(at_ms, &view.state, view.season.data());
  Napi::Object object = Napi::Object::New(env);
  object.Set("doubt", DoubtName(model.DoubtOf(view.state, view.season.data())));
  object.Set("seasons", Napi::Number::New(env, view.state.age / model.slots()));
  ForecastBand band = {NAN, NAN, NAN};
  if (model.HasForecast(view.state)) {
    band = model.BandOver(at_ms, at_ms + 1, view.state, view.season.data());
  }
  object.Set("expected", FiniteOrNull(env, band.expected));
  object.Set("low", FiniteOrNull(env, band.low));
  object.Set("high", FiniteOrNull(env, band.high));
  return object;
}

Napi::Value ForecastTableWrap::Save(const Napi::CallbackInfo& info) {
  std::string rows = forecasts_->Header();
  ForecastCursor cursor;
  while (forecasts_->SavePart(Now::Read().wall_ms, &cursor, &rows)) {
  }
  return Napi::Buffer<char>::Copy(info.Env(), rows.data(), rows.size());
}

}  // namespace seganet::binding
