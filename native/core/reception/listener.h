// Listening TCP sockets, and sockets that child processes do not inherit.
#ifndef SEGANET_CORE_RECEPTION_LISTENER_H_
#define SEGANET_CORE_RECEPTION_LISTENER_H_

#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "core/base/status.h"

namespace seganet {

// Opens a non-blocking listener on host and port (0 = any free port). Returns its descriptor in
// `*fd` and its port in `*bound_port`. `host` must be a numeric address, because a name lookup may
// block for many seconds. Status::System carries errno (EADDRINUSE, EACCES, EADDRNOTAVAIL).
Status OpenListener(const std::string& host, uint16_t port, int* fd, uint16_t* bound_port);

// socket(), accept() and a pair of connected stream sockets (false = see errno). All are created
// non-blocking and close-on-exec in one step, so a child process that starts meanwhile does not
// inherit them.
int OpenSocket(int family, int type);
int AcceptDevice(int listener, sockaddr* address, socklen_t* length);
bool StreamPair(int pair[2]);

// Disables Nagle's algorithm on a device's socket and enables TCP keep-alive, which detects a
// vanished peer within two minutes.
void PrepareSocket(int fd);

}  // namespace seganet

#endif  // SEGANET_CORE_RECEPTION_LISTENER_H_
