#include "core/protocol/proxy_header.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/reception/proxies.h"

namespace seganet {
namespace {

using namespace std::string_literals;

constexpr std::string_view kSignature{"\r\n\r\n\0\r\nQUIT\n", 12};

ProxyHeader Parse(std::string_view bytes) {
  return ParseProxyHeader({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

std::string Second(std::string_view fixed, std::string_view rest) {
  return std::string(kSignature) + std::string(fixed) + std::string(rest);
}

const std::string kFour = "\xc0\x00\x02\x07\xc6\x33\x64\x01\x9d\x78\x07\x5b"s;

TEST(ProxyHeader, NamesTheClient) {
  const std::string six = "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x07"s + std::string(16, '\1');
  const struct {
    const char* name;
    std::string bytes;
    const char* address;
  } cases[] = {
      {"1, IPv4", "PROXY TCP4 192.0.2.7 198.51.100.1 40312 1883\r\n", "192.0.2.7:40312"},
      {"1, IPv6", "PROXY TCP6 2001:db8::7 ::1 1 65535\r\n", "[2001:db8::7]:1"},
      {"1, unknown", "PROXY UNKNOWN\r\n", ""},
      {"1, unknown with a rest", "PROXY UNKNOWN ffff::1 anything\r\n", ""},
      {"2, IPv4", Second("\x21\x11\0\x0c"s, kFour), "192.0.2.7:40312"},
      {"2, with fields", Second("\x21\x11\0\x0f"s, kFour + "\x04\0\0"s), "192.0.2.7:40312"},
      {"2, IPv6", Second("\x21\x21\0\x24"s, six + kFour.substr(8)), "[2001:db8::7]:40312"},
      {"2, datagrams", Second("\x21\x12\0\x0c"s, kFour), "192.0.2.7:40312"},
      {"2, local", Second("\x20\x11\0\x0c"s, kFour), ""},
      {"2, local, nothing else", Second("\x20\0\0\0"s, ""), ""},
      {"2, of no family", Second("\x21\0\0\x03"s, "\x04\0\0"s), ""},
      {"2, Unix", Second("\x21\x31\0\xd8"s, std::string(216, 'u')), ""},
  };
  for (const auto& each : cases) {
    const ProxyHeader header = Parse(each.bytes + "\x10more");
    EXPECT_EQ(header.status, ProxyHeader::Status::kWhole) << each.name;
    EXPECT_EQ(header.bytes, each.bytes.size()) << each.name;
    EXPECT_EQ(header.address, each.address) << each.name;
    for (size_t n = 0; n < each.bytes.size(); ++n) {
      EXPECT_EQ(Parse(each.bytes.substr(0, n)).status, ProxyHeader::Status::kNeedMore)
          << each.name << ' ' << n;
    }
  }
}

TEST(ProxyHeader, RefusesAnythingElse) {
  const std::vector<std::string> cases = {
      "\x10\x0e\0\x04MQTT"s,
      "GET / HTTP/1.1\r\n",
      "PROXY TCP4 192.0.2.7 198.51.100.1 40312\r\n",
      "PROXY TCP4 192.0.2.7 198.51.100.1 40312 \r\n",
      "PROXY TCP4 192.0.2.7 198.51.100.1 40312 1883 \r\n",
      "PROXY TCP4  192.0.2.7 198.51.100.1 40312 1883\r\n",
      "PROXY TCP4 192.0.2.7 198.51.100.1 65536 1883\r\n",
      "PROXY TCP4 192.0.2.7 198.51.100.1 -1 1883\r\n",
      "PROXY TCP4 192.0.2 198.51.100.1 1 1883\r\n",
      "PROXY TCP4 2001:db8::7 ::1 1 1883\r\n",
      "PROXY UDP4 192.0.2.7 198.51.100.1 1 1883\r\n",
      "PROXY \r\n",
      "PROXY UNKNOWN" + std::string(100, ' '),  // no CRLF within 107 bytes
      Second("\x11\x11\0\x0c"s, kFour),         // version 1 in the form of version 2
      Second("\x22\x11\0\x0c"s, kFour),         // command 2
      Second("\x21\x41\0\x0c"s, kFour),         // family 4
      Second("\x21\x13\0\x0c"s, kFour),         // transport 3
      Second("\x21\x11\0\x0b"s, kFour),         // too short for its addresses
      Second("\x21\x11\x0f\xf1"s, kFour),       // 4,097 bytes in total
  };
  for (const std::string& each : cases)
    EXPECT_EQ(Parse(each).status, ProxyHeader::Status::kBad) << each;
}

sockaddr_storage Address(const char* host) {
  sockaddr_storage storage{};
  auto& four = reinterpret_cast<sockaddr_in&>(storage);
  auto& six = reinterpret_cast<sockaddr_in6&>(storage);
  if (inet_pton(AF_INET, host, &four.sin_addr) == 1) {
    storage.ss_family = AF_INET;
  } else {
    EXPECT_EQ(inet_pton(AF_INET6, host, &six.sin6_addr), 1) << host;
    storage.ss_family = AF_INET6;
  }
  return storage;
}

TEST(Proxies, AreAddressesAndNetworks) {
  Proxies proxies;
  EXPECT_FALSE(proxies.Contains(Address("10.0.0.7")));
  for (const char* each : {"10.0.0.7", "172.16.0.0/12", "2001:db8::/33", "::1"}) {
    EXPECT_TRUE(proxies.Add(each).ok()) << each;
  }
  for (const char* each :
       {"10.0.0.7", "::ffff:10.0.0.7", "172.31.255.255", "2001:db8:7fff::1", "::1"}) {
    EXPECT_TRUE(proxies.Contains(Address(each))) << each;
  }
  for (const char* each : {"10.0.0.6", "172.32.0.0", "172.15.255.255", "2001:db8:8000::1", "::2"}) {
    EXPECT_FALSE(proxies.Contains(Address(each))) << each;
  }
}

TEST(Proxies, RefusesWhatIsNoNetwork) {
  Proxies proxies;
  for (const char* each : {"", "proxy", "10.0.0", "10.0.0.7/33", "10.0.0.7/", "10.0.0.7/-1",
                           "::/129", "10.0.0.7/8x", "/8", "::1%lo"}) {
    EXPECT_FALSE(proxies.Add(each).ok()) << each;
  }
  EXPECT_TRUE(proxies.empty());
  EXPECT_TRUE(proxies.Add("0.0.0.0/0").ok());
  EXPECT_TRUE(proxies.Contains(Address("203.0.113.9")));
  EXPECT_FALSE(proxies.Contains(Address("2001:db8::1")));
  for (size_t i = 1; i < Proxies::kMost; ++i) EXPECT_TRUE(proxies.Add("10.0.0.1").ok());
  EXPECT_FALSE(proxies.Add("10.0.0.1").ok());
}

}  // namespace
}  // namespace seganet
