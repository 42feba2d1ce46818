#include "binding/socket/socket_mptcp.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/tcp.h>  // libc's tcp_info lacks bytes_acked
#endif

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "binding/node/args.h"

namespace seganet::binding {
namespace {

constexpr int kUnknown = -1;
constexpr int kMptcpProtocol = 262;  // IPPROTO_MPTCP, which older headers lack

// A subflow of a connection; -1 and "" = unknown.
struct SubflowInfo {
  std::string local;
  std::string remote;
  int state = kUnknown;
  double rtt_us = kUnknown;
  double retransmits = kUnknown;
  double bytes_sent = kUnknown;
  double bytes_acked = kUnknown;
  double unacked = kUnknown;
};

std::string Text(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(&address)->sin_addr, text,
              sizeof(text));
  } else if (address.ss_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(&address)->sin6_addr, text,
              sizeof(text));
  }
  return text;
}

#ifdef __linux__

// From Linux, include/uapi/linux/mptcp.h. The installed header may be older than the running
// kernel, and the kernel writes no more bytes than requested.
constexpr int kSolMptcp = 284;
constexpr int kMptcpInfo = 1;
constexpr int kMptcpTcpInfo = 2;
constexpr int kMptcpSubflowAddrs = 3;
constexpr uint32_t kFlagFallback = 1;

// The beginning of struct mptcp_info.
struct InfoHead {
  std::array<uint8_t, 8> counts;
  uint32_t flags;
  uint32_t token;
};

// struct mptcp_subflow_data
struct alignas(8) SubflowHead {
  uint32_t size_head = sizeof(SubflowHead);
  uint32_t subflows = 0;
  uint32_t size_kernel = 0;
  uint32_t size_user = 0;
};

// struct mptcp_subflow_addrs
struct SubflowAddresses {
  sockaddr_storage local;
  sockaddr_storage remote;
};

constexpr size_t kMostSubflows = 16;  // the kernel has at most 8, and lists some closed ones

template <typename Each>
struct SubflowList {
  SubflowHead head;
  std::array<Each, kMostSubflows> each{};
};

// Returns the number of subflows, in the order of the connection's list; -1 = the kernel does not
// report them.
template <typename Each>
int GetSubflows(int fd, int number, SubflowList<Each>* list) {
  list->head.size_user = sizeof(Each);
  socklen_t length = sizeof(*list);
  if (getsockopt(fd, kSolMptcp, number, list, &length) != 0) return kUnknown;
  return static_cast<int>(std::min<size_t>(list->head.subflows, kMostSubflows));
}

// `size`: number of bytes that the kernel has written.
void ReadFigures(const tcp_info& tcp, size_t size, SubflowInfo* info) {
  info->state = tcp.tcpi_state;
  info->rtt_us = tcp.tcpi_rtt;
  info->retransmits = tcp.tcpi_total_retrans;
  info->unacked = tcp.tcpi_unacked;
  if (size >= offsetof(tcp_info, tcpi_bytes_received)) {
    info->bytes_acked = static_cast<double>(tcp.tcpi_bytes_acked);
  }
  if (size >= offsetof(tcp_info, tcpi_bytes_retrans)) {
    info->bytes_sent = static_cast<double>(tcp.tcpi_bytes_sent);
  }
}

std::vector<SubflowInfo> ReadSubflowInfos(int fd) {
  SubflowList<SubflowAddresses> addresses;
  SubflowList<tcp_info> figures;
  const int count = GetSubflows(fd, kMptcpSubflowAddrs, &addresses);
  // If a subflow was added or removed between the two calls, the figures cannot be assigned.
  const bool known = GetSubflows(fd, kMptcpTcpInfo, &figures) == count;
  std::vector<SubflowInfo> infos(std::max(0, count));
  for (size_t i = 0; i < infos.size(); ++i) {
    infos[i].local = Text(addresses.each[i].local);
    infos[i].remote = Text(addresses.each[i].remote);
    const size_t size = std::min<size_t>(figures.head.size_kernel, sizeof(tcp_info));
    if (known) ReadFigures(figures.each[i], size, &infos[i]);
  }
  return infos;
}

void ReadTcp(int fd, SubflowInfo* info) {
  tcp_info tcp{};
  socklen_t length = sizeof(tcp);
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &tcp, &length) == 0) ReadFigures(tcp, length, info);
}

// A socket after a fallback answers as TCP, and so does every socket of a kernel before 5.16. A new
// socket distinguishes the two.
const char* WhyNotMptcp(int fd) {
  int protocol = 0;
  socklen_t length = sizeof(protocol);
  if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) != 0 ||
      protocol != kMptcpProtocol) {
    return "tcp";
  }
  const int fresh = NewMptcpSocket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC);
  if (fresh < 0) return "fallback";
  InfoHead head{};
  length = sizeof(head);
  const bool reports = getsockopt(fresh, kSolMptcp, kMptcpInfo, &head, &length) == 0;
  close(fresh);
  return reports ? "fallback" : "unknown";
}

#endif

// Describes a connection that is its own only subflow.
std::vector<SubflowInfo> SingleSubflow(int fd) {
  SubflowInfo info;
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0) {
    info.local = Text(address);
  }
  length = sizeof(address);
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0) {
    info.remote = Text(address);
  }
#ifdef __linux__
  ReadTcp(fd, &info);
#endif
  return {info};
}

Napi::Object ToObject(Napi::Env env, const char* transport, uint32_t token,
                      const std::vector<SubflowInfo>& infos) {
  Napi::Object result = Napi::Object::New(env);
  Napi::Array subflows = Napi::Array::New(env, infos.size());
  for (uint32_t i = 0; i < infos.size(); ++i) {
    Napi::Object one = Napi::Object::New(env);
    one.Set("local", infos[i].local);
    one.Set("remote", infos[i].remote);
    one.Set("state", infos[i].state);
    one.Set("rttUs", infos[i].rtt_us);
    one.Set("retransmits", infos[i].retransmits);
    one.Set("bytesSent", infos[i].bytes_sent);
    one.Set("bytesAcked", infos[i].bytes_acked);
    one.Set("unacked", infos[i].unacked);
    subflows.Set(i, one);
  }
  result.Set("transport", transport);
  result.Set("token", token);
  result.Set("subflows", subflows);
  return result;
}

}  // namespace

int NewMptcpSocket(int family, int kind) {
#ifdef __linux__
  return socket(family, kind, kMptcpProtocol);
#else
  static_cast<void>(family);
  static_cast<void>(kind);
  errno = EPROTONOSUPPORT;
  return -1;
#endif
}

Napi::Value MptcpInfo(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  int fd = -1;
  if (!ReadInt(env, info[0], "fd", 0, INT_MAX, &fd)) return env.Undefined();
  int type = 0;
  socklen_t length = sizeof(type);
  if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0) {
    Throw(env, Status::System("cannot inspect descriptor " + std::to_string(fd), errno));
    return env.Undefined();
  }
#ifdef __linux__
  InfoHead head{};
  length = sizeof(head);
  if (getsockopt(fd, kSolMptcp, kMptcpInfo, &head, &length) != 0) {
    return ToObject(env, WhyNotMptcp(fd), 0, SingleSubflow(fd));
  }
  if ((head.flags & kFlagFallback) != 0) return ToObject(env, "fallback", 0, SingleSubflow(fd));
  return ToObject(env, "mptcp", head.token, ReadSubflowInfos(fd));
#else
  return ToObject(env, "tcp", 0, SingleSubflow(fd));
#endif
}

void RenewPriority(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  int fd = -1;
  if (!ReadInt(env, info[0], "fd", 0, INT_MAX, &fd)) return;
#ifdef __linux__
  int priority = 0;
  socklen_t length = sizeof(priority);
  if (getsockopt(fd, SOL_SOCKET, SO_PRIORITY, &priority, &length) != 0 ||
      setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &priority, length) != 0) {
    Throw(env,
          Status::System("cannot set the priority of descriptor " + std::to_string(fd), errno));
  }
#endif
}

}  // namespace seganet::binding
