// setSocketOptions(fd, options): what Node's net.Socket cannot set and the uplink needs to notice a
// dead link in seconds.
#ifndef SEGANET_BINDING_SOCKET_OPTIONS_H_
#define SEGANET_BINDING_SOCKET_OPTIONS_H_

#include <napi.h>

namespace seganet::binding {

// Returns the names of the options that this kind of socket, or this system, does not know; they
// are left out, the others are set. Throws TypeError for bad arguments and Error with `code`
// (EBADF) when there is no such socket.
Napi::Value SetSocketOptions(const Napi::CallbackInfo& info);

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_SOCKET_OPTIONS_H_
