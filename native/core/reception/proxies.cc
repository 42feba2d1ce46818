#include "core/reception/proxies.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace seganet {
namespace {

constexpr size_t kMappedBytes = 12;  // of ::ffff:0:0/96

std::array<uint8_t, 16> Mapped() {
  std::array<uint8_t, 16> host{};
  host[10] = host[11] = 0xff;
  return host;
}

}  // namespace

Status Proxies::Add(const std::string& network) {
  const size_t slash = std::min(network.find('/'), network.size());
  const std::string host = network.substr(0, slash);
  Network added{Mapped(), 128};
  unsigned before = kMappedBytes * 8;  // bits of the network that its text does not count
  if (inet_pton(AF_INET, host.c_str(), added.host.data() + kMappedBytes) != 1) {
    before = 0;
    if (inet_pton(AF_INET6, host.c_str(), added.host.data()) != 1) {
      return Status::InvalidArgument("'" + network + "' is neither an address nor a network");
    }
  }
  if (slash < network.size()) {
    const std::string_view digits = std::string_view(network).substr(slash + 1);
    unsigned bits = 0;
    const char* end = digits.data() + digits.size();
    const auto [last, error] = std::from_chars(digits.data(), end, bits);
    if (error != std::errc() || last != end || bits > 128 - before) {
      return Status::InvalidArgument("'" + network + "' has no valid length after the slash");
    }
    added.bits = before + bits;
  }
  if (networks_.size() == kMost) {
    return Status::InvalidArgument("more than " + std::to_string(kMost) + " proxies");
  }
  networks_.push_back(added);
  return {};
}

bool Proxies::Contains(const sockaddr_storage& address) const {
  if (networks_.empty()) return false;
  Host host = Mapped();
  if (address.ss_family == AF_INET6) {
    const auto& six = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    std::copy_n(six.s6_addr, host.size(), host.begin());
  } else {
    const auto& four = reinterpret_cast<const sockaddr_in&>(address).sin_addr;
    std::copy_n(reinterpret_cast<const uint8_t*>(&four), sizeof four, host.begin() + kMappedBytes);
  }
  return std::any_of(networks_.begin(), networks_.end(),
                     [&](const Network& network) { return Matches(network, host); });
}

bool Proxies::Matches(const Network& network, const Host& host) {
  const size_t whole = network.bits / 8;
  if (!std::equal(host.begin(), host.begin() + whole, network.host.begin())) return false;
  const unsigned rest = network.bits % 8;
  return rest == 0 || (host[whole] ^ network.host[whole]) >> (8 - rest) == 0;
}

}  // namespace seganet
