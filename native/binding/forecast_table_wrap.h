// JavaScript's ForecastTable (native/index.d.ts): forecasts of numbers that are no records.
#ifndef SEGANET_BINDING_FORECAST_TABLE_WRAP_H_
#define SEGANET_BINDING_FORECAST_TABLE_WRAP_H_

#include <napi.h>

#include <memory>

#include "core/forecast/forecasts.h"

namespace seganet::binding {

// The series of a forecast stage without a stage: its only worker is the thread of JavaScript.
//
// Thread safety: the thread of its environment.
class ForecastTableWrap : public Napi::ObjectWrap<ForecastTableWrap> {
 public:
  static Napi::Function Define(Napi::Env env);

  explicit ForecastTableWrap(const Napi::CallbackInfo& info);

 private:
  Napi::Value Restored(const Napi::CallbackInfo& info);
  Napi::Value Observe(const Napi::CallbackInfo& info);
  Napi::Value Look(const Napi::CallbackInfo& info);
  Napi::Value Save(const Napi::CallbackInfo& info);

  ForecastOptions options_;
  std::unique_ptr<Forecasts> forecasts_;  // null = the constructor threw
  ForecastRestore restored_ = ForecastRestore::kDone;
};

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_FORECAST_TABLE_WRAP_H_
