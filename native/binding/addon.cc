#include <napi.h>

#include "binding/engine_wrap.h"
#include "binding/socket_options.h"
#include "binding/source_wrap.h"
#include "binding/store_wrap.h"

// No instance data and no statics but the registry: the addon may be loaded by any number of
// environments.
static Napi::Object Init(Napi::Env env, Napi::Object exports) {
  exports.Set("Engine", seganet::binding::EngineWrap::Define(env));
  exports.Set("UplinkSource", seganet::binding::SourceWrap::Define(env));
  exports.Set("StoreSource", seganet::binding::StoreWrap::Define(env));
  exports.Set("setSocketOptions",
              Napi::Function::New<seganet::binding::SetSocketOptions>(env, "setSocketOptions"));
  return exports;
}

NODE_API_MODULE(seganet, Init)
