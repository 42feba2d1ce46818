#include "binding/socket/socket_open.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include <cerrno>
#include <climits>
#include <string>
#include <vector>

#include "binding/node/args.h"
#include "binding/node/environment.h"
#include "binding/socket/socket_mptcp.h"
#include "binding/socket/socket_options.h"
#include "binding/socket/socket_path.h"
#include "binding/socket/socket_wait.h"

namespace seganet::binding {
namespace {

union Address {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

bool ReadAddress(Napi::Env env, const std::string& text, int port, Address* address) {
  // A NUL would truncate the text.
  const bool whole = text.find('\0') == std::string::npos;
  if (whole && (uv_ip4_addr(text.c_str(), port, &address->v4) == 0 ||
                uv_ip6_addr(text.c_str(), port, &address->v6) == 0)) {
    return true;
  }
  Napi::TypeError::New(env, "address must be an IPv4 or IPv6 address").ThrowAsJavaScriptException();
  return false;
}

// True for the errors of socket() without MPTCP: turned off (net.mptcp.enabled), not in the kernel,
// or not for this address family.
bool IsNoMptcp(int error) {
  return error == ENOPROTOOPT || error == EPROTONOSUPPORT || error == EINVAL;
}

// Returns a non-blocking, close-on-exec socket, or -1 with errno. `*no_mptcp`: the errno because of
// which the socket is TCP although MPTCP was requested; 0 = none.
int NewSocket(int family, bool wants_mptcp, int* no_mptcp) {
#ifdef SOCK_CLOEXEC
  const int kind = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
  if (wants_mptcp) {
    const int fd = NewMptcpSocket(family, kind);
    if (fd >= 0 || !IsNoMptcp(errno)) return fd;
    *no_mptcp = errno;
  }
  return socket(family, kind, IPPROTO_TCP);
#else
  if (wants_mptcp) *no_mptcp = EPROTONOSUPPORT;
  const int fd = socket(family, SOCK_STREAM, IPPROTO_TCP);
  if (fd >= 0) {
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, O_NONBLOCK);
  }
  return fd;
#endif
}

Status Connect(int fd, const Address& address, const std::string& shown) {
  const socklen_t length = address.any.sa_family == AF_INET ? sizeof(address.v4)  //
                                                            : sizeof(address.v6);
  if (connect(fd, &address.any, length) == 0 || errno == EINPROGRESS) return {};
  const int error = errno;
  return Status::System(std::string("connect ") + uv_err_name(-error) + " " + shown, error);
}

}  // namespace

Napi::Value OpenSocket(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  std::string text;
  int port = 0;
  Address address{};
  if (!ReadString(env, info[0], "address", &text) ||
      !ReadInt(env, info[1], "port", 1, 65535, &port) || !ReadAddress(env, text, port, &address)) {
    return env.Undefined();
  }
  if (!info[2].IsObject()) {
    Napi::TypeError::New(env, "options must be an object").ThrowAsJavaScriptException();
    return env.Undefined();
  }
  SocketOptions options;
  SocketPath path;
  const Napi::Object given = info[2].As<Napi::Object>();
  if (!options.Read(env, given) || !path.Read(env, given)) return env.Undefined();

  const int family = address.any.sa_family;
  int no_mptcp = 0;
  const int fd = NewSocket(family, path.wants_mptcp(), &no_mptcp);
  if (fd < 0) {
    Throw(env, Status::System("cannot create a socket", errno));
    return env.Undefined();
  }
  std::vector<const char*> names;
  Status status = options.Apply(fd, family, &names);
  if (status.ok()) status = path.Apply(fd, family);
  if (status.ok()) status = Connect(fd, address, text + " port " + std::to_string(port));
  if (!status.ok()) {
    close(fd);
    Throw(env, status);
    return env.Undefined();
  }
  Environment::Of(env)->open_sockets.Add(fd);
  Napi::Object opened = Napi::Object::New(env);
  Napi::Array unknown = Napi::Array::New(env, names.size());
  for (uint32_t i = 0; i < names.size(); ++i) unknown.Set(i, names[i]);
  opened.Set("fd", fd);
  opened.Set("unknown", unknown);
  opened.Set("noMptcp", no_mptcp == 0 ? "" : uv_err_name(-no_mptcp));
  return opened;
}

void CloseSocket(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  int fd = -1;
  if (!ReadInt(env, info[0], "fd", 0, INT_MAX, &fd)) return;
  // A wrong number must not close a file or one of the loop's own descriptors.
  int type = 0;
  socklen_t length = sizeof(type);
  if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0) {
    Throw(env, Status::System("cannot close descriptor " + std::to_string(fd), errno));
    return;
  }
  ConnectWait::Cancel(env, fd);
  Environment::Of(env)->open_sockets.Forget(fd);
  close(fd);
}

}  // namespace seganet::binding
