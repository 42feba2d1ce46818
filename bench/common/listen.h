#ifndef SEGANET_BENCH_COMMON_LISTEN_H_
#define SEGANET_BENCH_COMMON_LISTEN_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace bench {

// Returns a listening TCP socket on an IPv4 address. `flags` as for socket(), SOCK_NONBLOCK or 0.
// Ends the process with exit code 1 on failure.
inline int Listen(const std::string& host, uint16_t port, int flags) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
  const int one = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      listen(fd, 4096) != 0) {
    std::perror("listen");
    std::exit(1);
  }
  return fd;
}

}  // namespace bench

#endif  // SEGANET_BENCH_COMMON_LISTEN_H_
