// Reads the EngineStats (native/index.d.ts) of an engine.
#ifndef SEGANET_BINDING_STATS_H_
#define SEGANET_BINDING_STATS_H_

#include <napi.h>

#include "core/runtime/engine.h"

namespace seganet::binding {

Napi::Object ReadStats(Napi::Env env, Engine* engine);

// Returns a number that changes when a figure of EngineStats changes, except those that only time
// changes: how busy and how silent a worker is.
double ReadFingerprint(Engine* engine);

// Returns the PartStats of the plan's split stages.
Napi::Array ReadParts(Napi::Env env, const Plan& plan);

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_STATS_H_
