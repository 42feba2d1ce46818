// notify(address, message): sends one datagram to a Unix socket, as sd_notify(3) does. Node has no
// Unix datagram sockets.
#ifndef SEGANET_BINDING_SOCKET_SOCKET_NOTIFY_H_
#define SEGANET_BINDING_SOCKET_SOCKET_NOTIFY_H_

#include <napi.h>

namespace seganet::binding {

// Never blocks. Throws TypeError for an address that no socket can have, and Error with `code`
// otherwise (EAGAIN: the receiver's queue is full).
void Notify(const Napi::CallbackInfo& info);

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_SOCKET_SOCKET_NOTIFY_H_
