// By which way an uplink's socket leaves: a device, an address of this machine, or both; and
// whether it may have several.
#ifndef SEGANET_BINDING_SOCKET_SOCKET_PATH_H_
#define SEGANET_BINDING_SOCKET_SOCKET_PATH_H_

#include <napi.h>

#include <string>

#include "core/base/status.h"

namespace seganet::binding {

class SocketPath {
 public:
  // `device`, `localAddress` and `mptcp` of the options, all optional. False: a TypeError that
  // names the option is pending.
  bool Read(Napi::Env env, Napi::Object given);

  bool wants_mptcp() const { return wants_mptcp_; }

  // REQUIRES: fd is a new socket of `family`, not connected.
  Status Apply(int fd, int family) const;

 private:
  Status Bind(int fd, int family) const;

  std::string device_;         // "" = not given
  std::string local_address_;  // "" = not given
  bool wants_mptcp_ = false;
};

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_SOCKET_SOCKET_PATH_H_
