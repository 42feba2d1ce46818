// Readers of JavaScript's options for an uplink connection and its express path.
#ifndef SEGANET_BINDING_UPLINK_OPTIONS_H_
#define SEGANET_BINDING_UPLINK_OPTIONS_H_

#include <napi.h>

#include <vector>

#include "core/uplink/express.h"
#include "core/uplink/tls_client.h"

namespace seganet::binding {

// They return false if a TypeError is pending.
bool ReadTlsOptions(Napi::Env env, Napi::Object from, TlsOptions* options);
// `value`: an array of StageSpec.
bool ReadStages(Napi::Env env, Napi::Value value, std::vector<UplinkStage>* stages);
// Reads all but the stages and the window.
bool ReadExpressOptions(Napi::Env env, Napi::Object from, ExpressOptions* options, int* order);

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_UPLINK_OPTIONS_H_
