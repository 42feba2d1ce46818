// Reads the EngineStats (native/index.d.ts) of an engine.
#ifndef SEGANET_BINDING_STATS_H_
#define SEGANET_BINDING_STATS_H_

#include <napi.h>

#include "core/runtime/engine.h"

namespace seganet::binding {

Napi::Object ReadStats(Napi::Env env, Engine* engine);

// Returns the PartStats of the plan's split stages.
Napi::Array ReadParts(Napi::Env env, const Plan& plan);

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_STATS_H_
