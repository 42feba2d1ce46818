#include <napi.h>

#include "binding/broker_reader_wrap.h"
#include "binding/clock.h"
#include "binding/conditions.h"
#include "binding/device_stream.h"
#include "binding/engine_wrap.h"
#include "binding/forecast_table_wrap.h"
#include "binding/in_flight_window_wrap.h"
#include "binding/listener/proxy_options.h"
#include "binding/node/environment.h"
#include "binding/node/memory.h"
#include "binding/node/time_slice.h"
#include "binding/permissions_wrap.h"
#include "binding/publish_writer_wrap.h"
#include "binding/session_wrap.h"
#include "binding/socket/socket_info.h"
#include "binding/socket/socket_mptcp.h"
#include "binding/socket/socket_notify.h"
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
  exports.Set("SessionSource", seganet::binding::SessionWrap::Define(env));
  exports.Set("Permissions", seganet::binding::PermissionsWrap::Define(env));
  exports.Set("ForecastTable", seganet::binding::ForecastTableWrap::Define(env));
  exports.Set("checkConditions",
              Napi::Function::New<seganet::binding::CheckConditions>(env, "checkConditions"));
  exports.Set("checkPath", Napi::Function::New<seganet::binding::CheckPath>(env, "checkPath"));
  exports.Set("openDeviceStream",
              Napi::Function::New<seganet::binding::OpenDeviceStream>(env, "openDeviceStream"));
  exports.Set("parseProxyHeader",
              Napi::Function::New<seganet::binding::ParseProxyHeaderOf>(env, "parseProxyHeader"));
  env.SetInstanceData(new seganet::binding::Environment);
  exports.Set("openSocket", Napi::Function::New<seganet::binding::OpenSocket>(env, "openSocket"));
  exports.Set("waitConnect",
              Napi::Function::New<seganet::binding::WaitConnect>(env, "waitConnect"));
  exports.Set("closeSocket",
              Napi::Function::New<seganet::binding::CloseSocket>(env, "closeSocket"));
  exports.Set("PublishWriter", seganet::binding::PublishWriterWrap::Define(env));
  exports.Set("InFlightWindow", seganet::binding::InFlightWindowWrap::Define(env));
  exports.Set("BrokerReader", seganet::binding::BrokerReaderWrap::Define(env));
  exports.Set("UplinkConnection", seganet::binding::UplinkConnection::Define(env));
  exports.Set("restUplink", Napi::Function::New<seganet::binding::RestUplink>(env, "restUplink"));
  exports.Set("mptcpInfo", Napi::Function::New<seganet::binding::MptcpInfo>(env, "mptcpInfo"));
  exports.Set("renewPriority",
              Napi::Function::New<seganet::binding::RenewPriority>(env, "renewPriority"));
  exports.Set("notify", Napi::Function::New<seganet::binding::Notify>(env, "notify"));
  exports.Set("socketInfo", Napi::Function::New<seganet::binding::SocketInfo>(env, "socketInfo"));
  exports.Set("clockSynchronized",
              Napi::Function::New<seganet::binding::ClockSynchronized>(env, "clockSynchronized"));
  exports.Set("releaseMemory",
              Napi::Function::New<seganet::binding::ReleaseMemory>(env, "releaseMemory"));
  exports.Set("releaseProgramPages", Napi::Function::New<seganet::binding::ReleaseProgramPages>(
                                         env, "releaseProgramPages"));
  exports.Set("shortenTimeSlices", Napi::Function::New<seganet::binding::ShortenProcessSlices>(
                                       env, "shortenTimeSlices"));
  return exports;
}

NODE_API_MODULE(seganet, Init)
