#include <napi.h>

#include "binding/device_stream.h"
#include "binding/engine_wrap.h"
#include "binding/node/environment.h"
#include "binding/permissions_wrap.h"
#include "binding/socket/socket_info.h"
#include "binding/socket/socket_mptcp.h"
#include "binding/socket/socket_open.h"
#include "binding/socket/socket_wait.h"
#include "binding/source_wrap.h"
#include "binding/store_wrap.h"
#include "binding/uplink_connection.h"
#include "binding/uplink_turns.h"

// Except for the engine registry and the Environment in each instance's data, the addon has no
// mutable state: any number of environments may load it.
static Napi::Object Init(Napi::Env env, Napi::Object exports) {
  exports.Set("Engine", seganet::binding::EngineWrap::Define(env));
  exports.Set("UplinkSource", seganet::binding::SourceWrap::Define(env));
  exports.Set("StoreSource", seganet::binding::StoreWrap::Define(env));
  exports.Set("Permissions", seganet::binding::PermissionsWrap::Define(env));
  exports.Set("openDeviceStream",
              Napi::Function::New<seganet::binding::OpenDeviceStream>(env, "openDeviceStream"));
  env.SetInstanceData(new seganet::binding::Environment);
  exports.Set("openSocket", Napi::Function::New<seganet::binding::OpenSocket>(env, "openSocket"));
  exports.Set("waitConnect",
              Napi::Function::New<seganet::binding::WaitConnect>(env, "waitConnect"));
  exports.Set("closeSocket",
              Napi::Function::New<seganet::binding::CloseSocket>(env, "closeSocket"));
  exports.Set("UplinkConnection", seganet::binding::UplinkConnection::Define(env));
  exports.Set("restUplink", Napi::Function::New<seganet::binding::RestUplink>(env, "restUplink"));
  exports.Set("mptcpInfo", Napi::Function::New<seganet::binding::MptcpInfo>(env, "mptcpInfo"));
  exports.Set("renewPriority",
              Napi::Function::New<seganet::binding::RenewPriority>(env, "renewPriority"));
  exports.Set("socketInfo", Napi::Function::New<seganet::binding::SocketInfo>(env, "socketInfo"));
  return exports;
}

NODE_API_MODULE(seganet, Init)
