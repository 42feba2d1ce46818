// The path of an uplink socket: a network interface, a local address, or both; and whether it may
// use several paths (MPTCP).
#ifndef SEGANET_BINDING_SOCKET_SOCKET_PATH_H_
#define SEGANET_BINDING_SOCKET_SOCKET_PATH_H_

#include <napi.h>

#include <string>

#include "core/base/status.h"

namespace seganet::binding {

class SocketPath {
 public:
  // Reads the options `device`, `localAddress` and `mptcp`, all optional. Returns false if a
  // TypeError that names the invalid option is pending.
  bool Read(Napi::Env env, Napi::Object given);

  bool wants_mptcp() const { return wants_mptcp_; }

  // Binds the socket. REQUIRES: fd is a new socket of `family`, not connected.
  Status Apply(int fd, int family) const;

 private:
  Status Bind(int fd, int family) const;

  std::string device_;         // "" = not given
  std::string local_address_;  // "" = not given
  bool wants_mptcp_ = false;
};

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_SOCKET_SOCKET_PATH_H_
