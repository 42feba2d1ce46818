// mptcpInfo(fd): the subflows of a connection, as the kernel reports them.
#ifndef SEGANET_BINDING_SOCKET_SOCKET_MPTCP_H_
#define SEGANET_BINDING_SOCKET_SOCKET_MPTCP_H_

#include <napi.h>

namespace seganet::binding {

Napi::Value MptcpInfo(const Napi::CallbackInfo& info);

// renewPriority(fd): sets the connection's SO_PRIORITY on all existing subflows.
void RenewPriority(const Napi::CallbackInfo& info);

// Returns an MPTCP socket, or -1 with errno. `kind` is the type argument of socket().
int NewMptcpSocket(int family, int kind);

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_SOCKET_SOCKET_MPTCP_H_
