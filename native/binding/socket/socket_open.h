// openSocket(address, port, options) and closeSocket(fd): a TCP socket of our own, with its options
// set before the first packet leaves.
#ifndef SEGANET_BINDING_SOCKET_SOCKET_OPEN_H_
#define SEGANET_BINDING_SOCKET_SOCKET_OPEN_H_

#include <napi.h>

namespace seganet::binding {

// Begins to connect and returns {fd, unknown}: native/index.d.ts. The descriptor belongs to the
// caller; what is left open when the thread ends is closed then (OpenSockets).
Napi::Value OpenSocket(const Napi::CallbackInfo& info);

// Ends a wait for it, too: that is rejected with ECANCELED.
void CloseSocket(const Napi::CallbackInfo& info);

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_SOCKET_SOCKET_OPEN_H_
