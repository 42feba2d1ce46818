// JavaScript's Engine: what its forecast stages have learned.
#include <string>
#include <string_view>

#include "binding/engine_wrap.h"
#include "binding/node/args.h"

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

}  // namespace seganet::binding
