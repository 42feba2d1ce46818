#include "binding/socket/socket_info.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#ifdef __linux__
#include <linux/sockios.h>
#include <linux/tcp.h>  // libc's tcp_info lacks bytes_acked
#include <sys/ioctl.h>
#endif

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <string>

#include "binding/node/args.h"

namespace seganet::binding {
namespace {

constexpr int kNoFigure = -1;

struct Figures {
  int priority = kNoFigure;
  int dscp = kNoFigure;
  double rtt_us = kNoFigure;
  double unsent_bytes = kNoFigure;
  double unacked_bytes = kNoFigure;
  double bytes_acked = kNoFigure;
  double retransmits = kNoFigure;
};

int GetInt(int fd, int level, int number) {
  int value = 0;
  socklen_t length = sizeof(value);
  return getsockopt(fd, level, number, &value, &length) == 0 ? value : kNoFigure;
}

// Returns false if the address is unknown.
bool ReadLocal(int fd, sockaddr_storage* local) {
  socklen_t length = sizeof(*local);
  return getsockname(fd, reinterpret_cast<sockaddr*>(local), &length) == 0;
}

std::string LocalAddress(const sockaddr_storage& local) {
  char text[INET6_ADDRSTRLEN] = "";
  if (local.ss_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(&local)->sin_addr, text, sizeof(text));
  } else if (local.ss_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(&local)->sin6_addr, text,
              sizeof(text));
  }
  return text;
}

int ReadDscp(int fd, const sockaddr_storage& local) {
  int octet = kNoFigure;
  if (local.ss_family == AF_INET) octet = GetInt(fd, IPPROTO_IP, IP_TOS);
  if (local.ss_family == AF_INET6) octet = GetInt(fd, IPPROTO_IPV6, IPV6_TCLASS);
  return octet < 0 ? kNoFigure : octet >> 2;
}

#ifdef __linux__
void ReadTcp(int fd, Figures* figures) {
  tcp_info tcp{};
  socklen_t length = sizeof(tcp);
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &tcp, &length) != 0) return;
  figures->rtt_us = tcp.tcpi_rtt;
  figures->retransmits = tcp.tcpi_total_retrans;
  // An older kernel returns fewer fields than the header has.
  if (length >= offsetof(tcp_info, tcpi_bytes_received)) {
    figures->bytes_acked = static_cast<double>(tcp.tcpi_bytes_acked);
  }
  int unsent = 0;
  int queued = 0;  // sent and unsent
  if (ioctl(fd, SIOCOUTQNSD, &unsent) != 0 || ioctl(fd, SIOCOUTQ, &queued) != 0) return;
  figures->unsent_bytes = unsent;
  figures->unacked_bytes = std::max(0, queued - unsent);
}
#else
void ReadTcp(int, Figures*) {}
#endif

}  // namespace

Napi::Value SocketInfo(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  int fd = -1;
  if (!ReadInt(env, info[0], "fd", 0, INT_MAX, &fd)) return env.Undefined();
  if (GetInt(fd, SOL_SOCKET, SO_TYPE) == kNoFigure) {
    Throw(env, Status::System("cannot inspect descriptor " + std::to_string(fd), errno));
    return env.Undefined();
  }
  Figures figures;
#ifdef SO_PRIORITY
  figures.priority = GetInt(fd, SOL_SOCKET, SO_PRIORITY);
#endif
  sockaddr_storage local{};
  if (ReadLocal(fd, &local)) figures.dscp = ReadDscp(fd, local);
  ReadTcp(fd, &figures);
  Napi::Object result = Napi::Object::New(env);
  result.Set("priority", figures.priority);
  result.Set("dscp", figures.dscp);
  result.Set("localAddress", LocalAddress(local));
  result.Set("rttUs", figures.rtt_us);
  result.Set("unsentBytes", figures.unsent_bytes);
  result.Set("unackedBytes", figures.unacked_bytes);
  result.Set("bytesAcked", figures.bytes_acked);
  result.Set("retransmits", figures.retransmits);
  return result;
}

}  // namespace seganet::binding
