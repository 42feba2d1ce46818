// mptcpInfo(fd): which ways a connection has, as the kernel tells.
#ifndef SEGANET_BINDING_SOCKET_SOCKET_MPTCP_H_
#define SEGANET_BINDING_SOCKET_SOCKET_MPTCP_H_

#include <napi.h>

namespace seganet::binding {

Napi::Value MptcpInfo(const Napi::CallbackInfo& info);

// renewPriority(fd): all subflows that there are now get the connection's SO_PRIORITY.
void RenewPriority(const Napi::CallbackInfo& info);

// A socket that speaks MPTCP where it can, else -1 with errno. `kind` as for socket().
int NewMptcpSocket(int family, int kind);

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_SOCKET_SOCKET_MPTCP_H_
