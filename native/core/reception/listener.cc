#include "core/reception/listener.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace seganet {
namespace {

constexpr int kListenQueue = 1024;

uint16_t PortOf(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                   : reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

#ifndef __linux__
// Makes the descriptor non-blocking and close-on-exec. Returns `fd`, which may be -1.
int MakePrivate(int fd) {
  if (fd < 0) return fd;
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  return fd;
}
#endif

int Bind(const addrinfo& address) {
  const int fd = OpenSocket(address.ai_family, SOCK_STREAM);
  if (fd < 0) return -1;
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(fd, address.ai_addr, address.ai_addrlen) == 0 && listen(fd, kListenQueue) == 0)
    return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

}  // namespace

int AcceptDevice(int listener, sockaddr* address, socklen_t* length) {
#ifdef __linux__
  return accept4(listener, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
#else
  return MakePrivate(accept(listener, address, length));
#endif
}

bool StreamPair(int pair[2]) {
#ifdef __linux__
  return socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0;
#else
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return false;
  MakePrivate(pair[0]);
  MakePrivate(pair[1]);
  return true;
#endif
}

int OpenSocket(int family, int type) {
#ifdef __linux__
  return socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
#else
  return MakePrivate(socket(family, type, 0));
#endif
}

void PrepareSocket(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // Detects vanished devices that have no keep-alive of their own.
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
#ifdef __linux__
  const int idle_s = 60, interval_s = 15, probes = 4;
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
#endif
}

Status OpenListener(const std::string& host, uint16_t port, int* fd, uint16_t* bound_port) {
  const std::string where = host + ":" + std::to_string(port);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV | AI_NUMERICHOST;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    return Status::System("cannot listen on " + where + ": " + gai_strerror(error), EADDRNOTAVAIL);
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> free_found(found, &freeaddrinfo);
  *fd = -1;
  for (const addrinfo* address = found; address != nullptr && *fd < 0; address = address->ai_next) {
    *fd = Bind(*address);
  }
  if (*fd < 0) {
    const int cause = errno;
    return Status::System("cannot listen on " + where + ": " + std::strerror(cause), cause);
  }
  PrepareSocket(*fd);
  *bound_port = PortOf(*fd);
  return {};
}

}  // namespace seganet
