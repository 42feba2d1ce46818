#include "binding/socket/socket_options.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>

#include "binding/node/args.h"

namespace seganet::binding {
namespace {

constexpr int kMissing = -1;  // this system lacks the option

#ifdef SO_PRIORITY
constexpr int kPriority = SO_PRIORITY;
#else
constexpr int kPriority = kMissing;
#endif
#ifdef TCP_USER_TIMEOUT
constexpr int kUserTimeout = TCP_USER_TIMEOUT;
#else
constexpr int kUserTimeout = kMissing;
#endif
#ifdef TCP_NOTSENT_LOWAT
constexpr int kNotSentLowat = TCP_NOTSENT_LOWAT;
#else
constexpr int kNotSentLowat = kMissing;
#endif
#ifdef TCP_CONGESTION
constexpr int kCongestion = TCP_CONGESTION;
#else
constexpr int kCongestion = kMissing;
#endif
#ifdef TCP_KEEPIDLE
constexpr int kKeepIdle = TCP_KEEPIDLE;
#else
constexpr int kKeepIdle = TCP_KEEPALIVE;  // the name on macOS
#endif

// Returns 0 or an errno.
int SetInt(int fd, int level, int number, int value) {
  if (number == kMissing) return ENOPROTOOPT;
  return setsockopt(fd, level, number, &value, sizeof(value)) == 0 ? 0 : errno;
}

// DSCP is the upper six bits of the octet [RFC 2474]; the kernel controls the two ECN bits.
int SetDscp(int fd, int family, int dscp) {
  const int ipv4 = SetInt(fd, IPPROTO_IP, IP_TOS, dscp << 2);
  if (family == AF_INET) return ipv4;
  // For an IPv4-mapped peer (::ffff:192.0.2.1), the kernel uses the IPv4 option, so that one is set
  // too and its error is ignored.
  return SetInt(fd, IPPROTO_IPV6, IPV6_TCLASS, dscp << 2);
}

// Including the terminating NUL (Linux, include/net/tcp.h: TCP_CA_NAME_MAX).
constexpr size_t kCongestionNameMax = 16;

// Also true if the system does not report it.
bool HasCongestion(int fd, const std::string& name) {
  char present[kCongestionNameMax] = {};
  socklen_t length = sizeof(present);
  if (getsockopt(fd, IPPROTO_TCP, kCongestion, present, &length) != 0) return true;
  return std::string(present, strnlen(present, sizeof(present))) == name;
}

// Without a subflow, an MPTCP socket accepts any name, and keeps the system's default if the name
// is unknown. Reading the option creates the first subflow, so the second attempt gets a valid
// answer; subflows that join later inherit the option.
bool SetCongestion(int fd, const std::string& name) {
  if (kCongestion == kMissing) return false;
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto length = static_cast<socklen_t>(name.size());
    if (setsockopt(fd, IPPROTO_TCP, kCongestion, name.data(), length) != 0) return false;
    if (HasCongestion(fd, name)) return true;
  }
  return false;
}

// An MPTCP socket returns EOPNOTSUPP or ENOPROTOOPT for unsupported options.
bool IsUnknown(int error) { return error == ENOPROTOOPT || error == EOPNOTSUPP; }

}  // namespace

// IP_TOS also changes the priority (EF lands in the band of best effort), so the priority is set
// after it. A priority of 7 or more requires CAP_NET_ADMIN (socket(7)). The upper limits of the
// keep-alive options are Linux's (include/net/tcp.h, MAX_TCP_KEEP*).
SocketOptions::SocketOptions()
    : list_{{"dscp", Kind::kDscp, IPPROTO_IP, IP_TOS, 0, 63},
            {"priority", Kind::kNumber, SOL_SOCKET, kPriority, 0, 6},
            {"noDelay", Kind::kFlag, IPPROTO_TCP, TCP_NODELAY, 0, 1},
            {"userTimeoutMs", Kind::kZeroIsDefault, IPPROTO_TCP, kUserTimeout, 0, INT_MAX},
            {"keepIdleS", Kind::kKeepAlive, IPPROTO_TCP, kKeepIdle, 1, 32767},
            {"keepIntervalS", Kind::kKeepAlive, IPPROTO_TCP, TCP_KEEPINTVL, 1, 32767},
            {"keepCount", Kind::kKeepAlive, IPPROTO_TCP, TCP_KEEPCNT, 1, 127},
            {"notSentLowat", Kind::kZeroIsDefault, IPPROTO_TCP, kNotSentLowat, 0, INT_MAX},
            {"sendBuffer", Kind::kZeroIsDefault, SOL_SOCKET, SO_SNDBUF, 0, INT_MAX}} {}

bool SocketOptions::Read(Napi::Env env, Napi::Object given) {
  for (Option& option : list_) {
    if (option.kind != Kind::kFlag) {
      if (!ReadOption(env, given, option.name, option.low, option.high, &option.value)) {
        return false;
      }
      continue;
    }
    const Napi::Value flag = given.Get(option.name);
    if (flag.IsEmpty()) return false;
    if (flag.IsUndefined()) continue;
    if (!flag.IsBoolean()) {
      Napi::TypeError::New(env, std::string(option.name) + " must be true or false")
          .ThrowAsJavaScriptException();
      return false;
    }
    option.value = flag.ToBoolean() ? 1 : 0;
  }
  return ReadCongestion(env, given);
}

bool SocketOptions::ReadCongestion(Napi::Env env, Napi::Object given) {
  const Napi::Value value = given.Get("congestion");
  if (value.IsEmpty()) return false;
  if (value.IsUndefined()) return true;
  if (!ReadString(env, value, "congestion", &congestion_)) return false;
  const auto is_good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  if (!congestion_.empty() && congestion_.size() < kCongestionNameMax &&
      std::all_of(congestion_.begin(), congestion_.end(), is_good)) {
    return true;
  }
  Napi::TypeError::New(env, "congestion must have 1 to 15 bytes of a-z, 0-9, _ and -")
      .ThrowAsJavaScriptException();
  return false;
}

Status SocketOptions::Apply(int fd, int family, std::vector<const char*>* unknown) const {
  for (const Option& option : list_) {
    if (option.value < 0) continue;
    const int error = Set(fd, family, option);
    if (IsUnknown(error)) {
      unknown->push_back(option.name);
    } else if (error != 0) {
      return Status::System(std::string("socket option ") + option.name, error);
    }
  }
  // A congestion control that is not permitted (tcp_allowed_congestion_control) is no reason not to
  // connect.
  if (!congestion_.empty() && !SetCongestion(fd, congestion_)) unknown->push_back("congestion");
  return {};
}

// Returns 0 or an errno.
int SocketOptions::Set(int fd, int family, const Option& option) {
  switch (option.kind) {
    case Kind::kDscp:
      return SetDscp(fd, family, option.value);
    case Kind::kZeroIsDefault:
      // To the kernel, 0 may mean the minimum.
      if (option.value == 0) return 0;
      break;
    case Kind::kKeepAlive:
      // Without SO_KEEPALIVE, a socket sends no probes.
      if (const int error = SetInt(fd, SOL_SOCKET, SO_KEEPALIVE, 1); error != 0) return error;
      break;
    case Kind::kNumber:
    case Kind::kFlag:
      break;
  }
  return SetInt(fd, option.level, option.number, option.value);
}

}  // namespace seganet::binding
