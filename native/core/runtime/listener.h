// A listening TCP socket.
#ifndef SEGANET_CORE_RUNTIME_LISTENER_H_
#define SEGANET_CORE_RUNTIME_LISTENER_H_

#include <cstdint>
#include <string>

#include "core/base/status.h"

namespace seganet {

// Opens a non-blocking listener on host (name or address) and port (0 = any free one); the port
// that it got goes to
// `*bound_port`. Returns the descriptor in `*fd`. Status::System carries errno (EADDRINUSE, EACCES,
// EADDRNOTAVAIL).
Status OpenListener(const std::string& host, uint16_t port, int* fd, uint16_t* bound_port);

// Makes an accepted socket non-blocking, close-on-exec, without Nagle's delay and with TCP
// keep-alive (a peer that is gone is noticed in two minutes).
void PrepareSocket(int fd);

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_LISTENER_H_
