// openSocket(address, port, options) and closeSocket(fd): TCP sockets whose options are set before
// the first packet leaves.
#ifndef SEGANET_BINDING_SOCKET_SOCKET_OPEN_H_
#define SEGANET_BINDING_SOCKET_SOCKET_OPEN_H_

#include <napi.h>

namespace seganet::binding {

// Starts to connect and returns {fd, unknown, noMptcp}: the descriptor; the names of the options
// that this system does not support; and why the socket is TCP although MPTCP was requested ('' =
// it is not). The caller owns the descriptor. If it is still open when the thread ends, OpenSockets
// closes it. Throws an Error with `code` for system errors.
Napi::Value OpenSocket(const Napi::CallbackInfo& info);

// Closes the socket. A pending waitConnect() for it ends with ECANCELED.
void CloseSocket(const Napi::CallbackInfo& info);

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_SOCKET_SOCKET_OPEN_H_
