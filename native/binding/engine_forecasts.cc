// JavaScript's Engine: what its forecast stages have learned.
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "binding/doubt_name.h"
#include "binding/engine_wrap.h"
#include "binding/node/args.h"
#include "binding/plan_reader.h"

namespace seganet::binding {
namespace {

const char* NameOf(ForecastRestore result) {
  switch (result) {
    case ForecastRestore::kMore:
      return "more";
    case ForecastRestore::kDone:
      return "done";
    case ForecastRestore::kOther:
      return "other";
    case ForecastRestore::kDamaged:
      break;
  }
  return "damaged";
}

constexpr uint32_t kMostLooks = 100;
constexpr uint32_t kMostBandSteps = 240;
constexpr uint32_t kMostStepMs = 60'000;
constexpr uint32_t kMostTaught = 100'000;

const char* NameOf(ForecastTeach result) {
  switch (result) {
    case ForecastTeach::kDone:
      return "done";
    case ForecastTeach::kFull:
      return "full";
    case ForecastTeach::kOther:
      return "other";
    case ForecastTeach::kBegun:
      break;
  }
  return "begun";
}

bool ReadSeries(Napi::Env env, Napi::Value value, std::string* device, std::string* topic) {
  if (value.IsEmpty()) return false;
  if (!value.IsObject()) return Fail(env, "a series must be an object with device and topic");
  const auto object = value.As<Napi::Object>();
  return ReadText(env, object, "device", device) && ReadText(env, object, "topic", topic);
}

bool ReadDoubles(Napi::Env env, Napi::Value value, const char* name, Napi::Float64Array* doubles) {
  if (!value.IsTypedArray() ||
      value.As<Napi::TypedArray>().TypedArrayType() != napi_float64_array) {
    return Fail(env, std::string(name) + " must be a Float64Array");
  }
  *doubles = value.As<Napi::Float64Array>();
  return doubles->ElementLength() <= kMostTaught ||
         Fail(env, std::string(name) + " must have at most 100000 elements");
}

// A span of time in steps.
struct Steps {
  int64_t from_ms = 0;
  uint32_t step_ms = 1000;
  uint32_t count = 1;
};

void SetFinite(Napi::Object object, const char* name, double number) {
  const Napi::Env env = object.Env();
  object.Set(name, std::isfinite(number) ? Napi::Number::New(env, number) : env.Null());
}

// Takes the copy to the present, as a value would.
Napi::Value ViewOf(Napi::Env env, const SeasonModel& model, int64_t now_ms, const Steps& steps,
                   ForecastView* view) {
  if (!view->is_known) return env.Null();
  model.GoTo(now_ms, &view->state, view->season.data());
  const SeriesState& state = view->state;
  Napi::Object object = Napi::Object::New(env);
  object.Set("doubt", DoubtName(model.DoubtOf(state, view->season.data())));
  object.Set("seasons", Napi::Number::New(env, state.age / model.slots()));
  object.Set("learned", Napi::Number::New(env, state.learned));
  Napi::Array bands = Napi::Array::New(env);
  for (uint32_t i = 0; i < steps.count && model.HasForecast(state); ++i) {
    const int64_t from_ms = steps.from_ms + int64_t{i} * steps.step_ms;
    const ForecastBand band =
        model.BandOver(from_ms, from_ms + steps.step_ms, state, view->season.data());
    Napi::Object row = Napi::Object::New(env);
    SetFinite(row, "expected", band.expected);
    SetFinite(row, "low", band.low);
    SetFinite(row, "high", band.high);
    bands.Set(i, row);
  }
  object.Set("bands", bands);
  Napi::Array anomalies = Napi::Array::New(env);
  for (const ForecastAnomaly& anomaly : view->anomalies) {
    Napi::Object row = Napi::Object::New(env);
    row.Set("ts", Napi::Number::New(env, static_cast<double>(anomaly.ts_ms)));
    row.Set("value", Napi::Number::New(env, anomaly.value));
    anomalies.Set(anomalies.Length(), row);
  }
  object.Set("anomalies", anomalies);
  return object;
}

bool ReadCursor(Napi::Env env, Napi::Value value, uint32_t workers, ForecastCursor* cursor) {
  if (value.IsNull()) return true;
  if (!value.IsObject()) return Fail(env, "after must be an object with part and before, or null");
  const auto object = value.As<Napi::Object>();
  return ReadInt<uint32_t>(env, object.Get("part"), "part", 0, workers, &cursor->part) &&
         ReadInt<uint32_t>(env, object.Get("before"), "before", 0, UINT32_MAX, &cursor->before);
}

}  // namespace

Napi::Value EngineWrap::SaveForecasts(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Engine& engine = handle_->engine;
  uint32_t stage = 0;
  ForecastCursor cursor;
  if (!ReadInt<uint32_t>(env, info[0], "stage", 1, UINT32_MAX, &stage)) return env.Undefined();
  const std::shared_ptr<Forecasts> forecasts = engine.ForecastsOf(stage);
  if (!forecasts || !forecasts->ready()) return env.Null();
  const auto workers = static_cast<uint32_t>(engine.Workers().size());
  if (!ReadCursor(env, info[1], workers, &cursor)) return env.Undefined();
  std::string rows = info[1].IsNull() ? forecasts->Header() : std::string();
  const bool goes_on = engine.SaveForecasts(forecasts.get(), &cursor, &rows);
  Napi::Object page = Napi::Object::New(env);
  page.Set("rows", Napi::Buffer<char>::Copy(env, rows.data(), rows.size()));
  page.Set("next", env.Null());
  if (goes_on) {
    Napi::Object next = Napi::Object::New(env);
    next.Set("part", Napi::Number::New(env, cursor.part));
    next.Set("before", Napi::Number::New(env, cursor.before));
    page.Set("next", next);
  }
  return page;
}

Napi::Value EngineWrap::RestoreForecasts(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  uint32_t stage = 0;
  if (!ReadInt<uint32_t>(env, info[0], "stage", 1, UINT32_MAX, &stage)) return env.Undefined();
  const std::shared_ptr<Forecasts> forecasts = handle_->engine.ForecastsOf(stage);
  if (!forecasts) return env.Null();
  size_t at = 0;
  ForecastRestore result = ForecastRestore::kDone;
  if (info[1].IsNull()) {
    forecasts->Begin();
  } else {
    Napi::Uint8Array content;
    double from = 0;
    if (!ReadBytes(env, info[1], "content", &content) ||
        !ReadNumber(env, info[2], "at", 0, static_cast<double>(content.ByteLength()), &from)) {
      return env.Undefined();
    }
    at = static_cast<size_t>(from);
    const std::string_view bytes(reinterpret_cast<const char*>(content.Data()),
                                 content.ByteLength());
    if (!forecasts->ready()) result = forecasts->Restore(bytes, &at);
  }
  Napi::Object page = Napi::Object::New(env);
  page.Set("result", NameOf(result));
  page.Set("at", Napi::Number::New(env, static_cast<double>(at)));
  return page;
}

Napi::Value EngineWrap::TeachForecast(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  uint32_t stage = 0;
  std::string device;
  std::string topic;
  Napi::Float64Array times;
  Napi::Float64Array values;
  double until_ms = 0;
  ForecastOptions options;
  if (!ReadInt<uint32_t>(env, info[0], "stage", 1, UINT32_MAX, &stage)) return env.Undefined();
  if (!info[1].IsObject()) {
    Fail(env, "settings must be an object");
    return env.Undefined();
  }
  if (!ReadForecast(env, info[1].As<Napi::Object>(), &options) ||
      !ReadSeries(env, info[2], &device, &topic) || !ReadDoubles(env, info[3], "times", &times) ||
      !ReadDoubles(env, info[4], "values", &values) ||
      !ReadNumber(env, info[5], "until", 0, kMaxSafeInteger, &until_ms)) {
    return env.Undefined();
  }
  if (times.ElementLength() != values.ElementLength()) {
    Fail(env, "times and values must have the same length");
    return env.Undefined();
  }
  const std::shared_ptr<Forecasts> forecasts = handle_->engine.ForecastsOf(stage);
  if (!forecasts) return env.Null();
  const ForecastTeach result =
      forecasts->Teach(options, device, topic, times.Data(), values.Data(), times.ElementLength(),
                       static_cast<int64_t>(until_ms));
  return Napi::String::New(env, NameOf(result));
}

Napi::Value EngineWrap::LookAtForecasts(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  uint32_t stage = 0;
  Steps steps;
  double from_ms = 0;
  if (!ReadInt<uint32_t>(env, info[0], "stage", 1, UINT32_MAX, &stage)) return env.Undefined();
  if (!info[1].IsArray() || info[1].As<Napi::Array>().Length() > kMostLooks) {
    Fail(env, "series must be an array of at most 100 elements");
    return env.Undefined();
  }
  if (!ReadNumber(env, info[2], "from", 0, kMaxSafeInteger, &from_ms) ||
      !ReadInt<uint32_t>(env, info[3], "stepMs", 1000, kMostStepMs, &steps.step_ms) ||
      !ReadInt<uint32_t>(env, info[4], "steps", 1, kMostBandSteps, &steps.count)) {
    return env.Undefined();
  }
  steps.from_ms = static_cast<int64_t>(from_ms);
  Engine& engine = handle_->engine;
  const std::shared_ptr<Forecasts> forecasts = engine.ForecastsOf(stage);
  const auto series = info[1].As<Napi::Array>();
  std::vector<uint64_t> keys;
  for (uint32_t i = 0; i < series.Length(); ++i) {
    std::string device;
    std::string topic;
    if (!ReadSeries(env, series.Get(i), &device, &topic)) return env.Undefined();
    if (forecasts) keys.push_back(forecasts->KeyOf(device, topic));
  }
  if (!forecasts) return env.Null();
  std::vector<ForecastView> views = engine.LookAtForecasts(forecasts.get(), keys);
  const int64_t now_ms = Now::Read().wall_ms;
  Napi::Array rows = Napi::Array::New(env, views.size());
  for (uint32_t i = 0; i < views.size(); ++i) {
    const Napi::HandleScope scope(env);
    rows.Set(i, ViewOf(env, forecasts->model(), now_ms, steps, &views[i]));
  }
  return rows;
}

}  // namespace seganet::binding
