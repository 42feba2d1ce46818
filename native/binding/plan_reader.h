// Reads a PlanSpec from JavaScript (native/index.d.ts) into stages of the core.
#ifndef SEGANET_BINDING_PLAN_READER_H_
#define SEGANET_BINDING_PLAN_READER_H_

#include <napi.h>

#include <vector>

#include "core/plan/plan.h"

namespace seganet::binding {

// All return false if a JavaScript exception that names the invalid value is pending.
bool ReadPermissionRows(Napi::Env env, Napi::Value value, std::vector<Permission>* permissions);

// Reads ForecastSettings.
bool ReadForecast(Napi::Env env, Napi::Object object, ForecastOptions* options);

bool ReadPlan(Napi::Env env, Napi::Value value, std::vector<StageSpec>* stages);

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_PLAN_READER_H_
