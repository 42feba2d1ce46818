// socketInfo(fd): the kernel's information about an uplink socket.
#ifndef SEGANET_BINDING_SOCKET_SOCKET_INFO_H_
#define SEGANET_BINDING_SOCKET_SOCKET_INFO_H_

#include <napi.h>

namespace seganet::binding {

Napi::Value SocketInfo(const Napi::CallbackInfo& info);

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_SOCKET_SOCKET_INFO_H_
