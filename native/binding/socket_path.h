// By which way an uplink's socket leaves: a device, an address of this machine, or both.
#ifndef SEGANET_BINDING_SOCKET_PATH_H_
#define SEGANET_BINDING_SOCKET_PATH_H_

#include <napi.h>

#include <string>

#include "core/base/status.h"

namespace seganet::binding {

class SocketPath {
 public:
  // `device` and `localAddress` of the options, both optional. False: a TypeError that names the
  // option is pending.
  bool Read(Napi::Env env, Napi::Object given);

  // REQUIRES: fd is a new socket of `family`, not connected.
  Status Apply(int fd, int family) const;

 private:
  Status Bind(int fd, int family) const;

  std::string device_;         // "" = not given
  std::string local_address_;  // "" = not given
};

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_SOCKET_PATH_H_
