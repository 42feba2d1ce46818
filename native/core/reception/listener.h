// A listening TCP socket, and sockets that no child process inherits.
#ifndef SEGANET_CORE_RECEPTION_LISTENER_H_
#define SEGANET_CORE_RECEPTION_LISTENER_H_

#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "core/base/status.h"

namespace seganet {

// Opens a non-blocking listener on host and port (0 = any free one); the port that it got goes to
// `*bound_port`. `host` is an address, because the look-up of a name may block for many seconds.
// Returns the descriptor in `*fd`. Status::System carries errno (EADDRINUSE, EACCES,
// EADDRNOTAVAIL).
Status OpenListener(const std::string& host, uint16_t port, int* fd, uint16_t* bound_port);

// socket(), accept() and a pair of connected stream sockets (false = errno tells), all non-blocking
// and closed on exec from the beginning: a child that is started meanwhile does not get them.
int OpenSocket(int family, int type);
int AcceptDevice(int listener, sockaddr* address, socklen_t* length);
bool StreamPair(int pair[2]);

// Makes a device's socket one without Nagle's delay and with TCP keep-alive (a peer that is gone is
// noticed in two minutes).
void PrepareSocket(int fd);

}  // namespace seganet

#endif  // SEGANET_CORE_RECEPTION_LISTENER_H_
