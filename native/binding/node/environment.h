// The addon's instance data for one environment (a thread that runs JavaScript).
#ifndef SEGANET_BINDING_NODE_ENVIRONMENT_H_
#define SEGANET_BINDING_NODE_ENVIRONMENT_H_

#include <napi.h>

#include <unordered_map>

#include "binding/node/open_sockets.h"
#include "core/uplink/tls_cache.h"

namespace seganet::binding {

class ConnectWait;
class UplinkTurns;

struct Environment {
  OpenSockets open_sockets;
  TlsCache tls;                                         // for connections to brokers
  std::unordered_map<int, ConnectWait*> connect_waits;  // by descriptor
  UplinkTurns* uplink_turns = nullptr;                  // created when needed; deletes itself

  // Returns null if the environment has ended.
  static Environment* Of(Napi::Env env) { return env.GetInstanceData<Environment>(); }
};

// Calls a JavaScript function from the loop, outside of any other call. An exception that it throws
// is an uncaught exception.
void CallFromLoop(Napi::Env env, Napi::Function function, std::initializer_list<napi_value> args);

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_NODE_ENVIRONMENT_H_
