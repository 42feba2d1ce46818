#include "binding/socket/socket_path.h"

#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <uv.h>

#include <cerrno>
#include <cstddef>
#include <string>

#include "binding/node/args.h"

namespace seganet::binding {
namespace {

// False: a TypeError is pending.
bool ReadText(Napi::Env env, Napi::Object given, const char* name, size_t most, std::string* text) {
  const Napi::Value value = given.Get(name);
  if (value.IsEmpty()) return false;
  if (value.IsUndefined()) return true;
  if (!ReadString(env, value, name, text)) return false;
  // A NUL would truncate the text.
  if (!text->empty() && text->size() <= most && text->find('\0') == std::string::npos) return true;
  Napi::TypeError::New(
      env, std::string(name) + " must have 1 to " + std::to_string(most) + " bytes, none of them 0")
      .ThrowAsJavaScriptException();
  return false;
}

// False: a TypeError is pending.
bool ReadFlag(Napi::Env env, Napi::Object given, const char* name, bool* flag) {
  const Napi::Value value = given.Get(name);
  if (value.IsEmpty()) return false;
  if (value.IsUndefined()) return true;
  *flag = value.IsBoolean() && value.ToBoolean();
  if (value.IsBoolean()) return true;
  Napi::TypeError::New(env, std::string(name) + " must be true or false")
      .ThrowAsJavaScriptException();
  return false;
}

}  // namespace

bool SocketPath::Read(Napi::Env env, Napi::Object given) {
  if (!ReadText(env, given, "device", IFNAMSIZ - 1, &device_) ||
      !ReadText(env, given, "localAddress", INET6_ADDRSTRLEN - 1, &local_address_) ||
      !ReadFlag(env, given, "mptcp", &wants_mptcp_)) {
    return false;
  }
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (local_address_.empty() || uv_ip4_addr(local_address_.c_str(), 0, &v4) == 0 ||
      uv_ip6_addr(local_address_.c_str(), 0, &v6) == 0) {
    return true;
  }
  Napi::TypeError::New(env, "localAddress must be an IPv4 or IPv6 address")
      .ThrowAsJavaScriptException();
  return false;
}

Status SocketPath::Apply(int fd, int family) const {
  if (!device_.empty()) {
#ifdef SO_BINDTODEVICE
    // Requires no privilege since Linux 5.7 (socket(7)).
    if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device_.data(),
                   static_cast<socklen_t>(device_.size())) != 0) {
      return Status::System("socket option device " + device_, errno);
    }
#else
    return Status::System("socket option device " + device_, ENOPROTOOPT);
#endif
  }
  return local_address_.empty() ? Status{} : Bind(fd, family);
}

Status SocketPath::Bind(int fd, int family) const {
#ifdef IP_BIND_ADDRESS_NO_PORT
  // The port is chosen when the peer is known (ip(7)); otherwise each bound socket would occupy a
  // port of its own.
  const int on = 1;
  setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
#endif
  int bound = -1;
  errno = EAFNOSUPPORT;  // the address is of the other family
  if (family == AF_INET) {
    sockaddr_in address{};
    if (uv_ip4_addr(local_address_.c_str(), 0, &address) == 0) {
      bound = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    }
  } else {
    sockaddr_in6 address{};
    if (uv_ip6_addr(local_address_.c_str(), 0, &address) == 0) {
      bound = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    }
  }
  return bound == 0 ? Status{} : Status::System("bind " + local_address_, errno);
}

}  // namespace seganet::binding
