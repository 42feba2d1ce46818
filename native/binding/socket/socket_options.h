// The options of an uplink socket, which are set before it connects. Their names are those of
// UplinkSocketOptions in native/index.d.ts.
#ifndef SEGANET_BINDING_SOCKET_SOCKET_OPTIONS_H_
#define SEGANET_BINDING_SOCKET_SOCKET_OPTIONS_H_

#include <napi.h>

#include <string>
#include <vector>

#include "core/base/status.h"

namespace seganet::binding {

class SocketOptions {
 public:
  SocketOptions();

  // Reads all options. Returns false if a TypeError that names the invalid option is pending.
  bool Read(Napi::Env env, Napi::Object given);

  // Sets the given options. Adds to `*unknown` the names of options that this system or this kind
  // of socket does not support, and "congestion" if that congestion control is missing or not
  // permitted. REQUIRES: fd is a new socket of `family`.
  Status Apply(int fd, int family, std::vector<const char*>* unknown) const;

 private:
  enum class Kind { kNumber, kFlag, kDscp, kKeepAlive, kZeroIsDefault };
  struct Option {
    const char* name;
    Kind kind;
    int level;
    int number;
    int low;
    int high;
    int value = -1;  // not given
  };

  bool ReadCongestion(Napi::Env env, Napi::Object given);
  static int Set(int fd, int family, const Option& option);

  std::vector<Option> list_;  // in the order in which they are set
  std::string congestion_;    // "" = not given
};

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_SOCKET_SOCKET_OPTIONS_H_
