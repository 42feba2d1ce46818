// The proxies of a listener, whose connections begin with a PROXY header.
#ifndef SEGANET_CORE_RECEPTION_PROXIES_H_
#define SEGANET_CORE_RECEPTION_PROXIES_H_

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace seganet {

// Addresses and networks, such as 10.0.0.7, 10.0.0.0/8 or 2001:db8::/32.
//
// Thread safety: immutable after Add.
class Proxies {
 public:
  static constexpr size_t kMost = 64;

  // InvalidArgument if it is neither an address nor a network, or one too many.
  Status Add(const std::string& network);
  bool empty() const { return networks_.empty(); }
  bool Contains(const sockaddr_storage& address) const;

 private:
  // IPv4 is ::ffff:0:0/96 (RFC 4291, 2.5.5.2), as a socket on :: shows it.
  using Host = std::array<uint8_t, 16>;
  struct Network {
    Host host;
    unsigned bits;  // 0 to 128
  };

  static bool Matches(const Network& network, const Host& host);

  std::vector<Network> networks_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_RECEPTION_PROXIES_H_
