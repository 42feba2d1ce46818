// The PROXY protocol, versions 1 and 2 (HAProxy's specification of 2020, proxy-protocol.txt): the
// first bytes of a connection that comes from a proxy, which say whose connection it is.
#ifndef SEGANET_CORE_PROTOCOL_PROXY_HEADER_H_
#define SEGANET_CORE_PROTOCOL_PROXY_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace seganet {

struct ProxyHeader {
  enum class Status : uint8_t { kNeedMore, kWhole, kBad };
  Status status = Status::kNeedMore;
  size_t bytes = 0;  // kWhole: its length
  // kWhole: the client's address and port, such as 192.0.2.7:40312 or [2001:db8::7]:40312. Empty:
  // the header names none (LOCAL, UNKNOWN), as in a health check.
  std::string address;
};

// A longer header is bad. Type-length-value fields of version 2 count and are not read.
inline constexpr size_t kMostProxyHeaderBytes = 4096;

// Parses the first bytes of a connection. Any status but kNeedMore is final.
ProxyHeader ParseProxyHeader(std::span<const uint8_t> bytes);

}  // namespace seganet

#endif  // SEGANET_CORE_PROTOCOL_PROXY_HEADER_H_
