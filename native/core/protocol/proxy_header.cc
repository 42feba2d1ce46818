#include "core/protocol/proxy_header.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string_view>

namespace seganet {
namespace {

using Bytes = std::span<const uint8_t>;

constexpr std::string_view kSignature1 = "PROXY ";
constexpr std::string_view kSignature2("\r\n\r\n\0\r\nQUIT\n", 12);
constexpr size_t kMostLine = 107;  // of version 1, with its CRLF
constexpr size_t kFixed2 = 16;     // signature, version and command, family, length

ProxyHeader Bad() { return {ProxyHeader::Status::kBad, 0, {}}; }

// True if the bytes begin with the signature, or are the beginning of it.
bool MayBe(std::string_view signature, Bytes bytes) {
  return std::memcmp(bytes.data(), signature.data(), std::min(bytes.size(), signature.size())) == 0;
}

std::string Address(int family, const void* host, uint16_t port) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(family, host, text.data(), text.size());
  const std::string plain = text.data();
  return (family == AF_INET6 ? "[" + plain + "]" : plain) + ":" + std::to_string(port);
}

// Takes the text before the next space, or all of it.
std::string_view TakeWord(std::string_view* line) {
  const size_t end = std::min(line->find(' '), line->size());
  const std::string_view word = line->substr(0, end);
  line->remove_prefix(std::min(end + 1, line->size()));
  return word;
}

bool ReadHost(int family, std::string_view word, void* host) {
  return inet_pton(family, std::string(word).c_str(), host) == 1;
}

bool ReadPort(std::string_view word, uint16_t* port) {
  const char* end = word.data() + word.size();
  const auto [last, error] = std::from_chars(word.data(), end, *port);
  return error == std::errc() && last == end;
}

// `line`: after the signature, without the CRLF. Returns false if it is not valid.
bool ReadLine(std::string_view line, std::string* address) {
  const std::string_view transport = TakeWord(&line);
  if (transport == "UNKNOWN") return true;  // the rest is to be ignored
  if (transport != "TCP4" && transport != "TCP6") return false;
  const int family = transport == "TCP4" ? AF_INET : AF_INET6;
  std::array<uint8_t, 16> source{};
  std::array<uint8_t, 16> destination{};
  uint16_t source_port = 0;
  uint16_t destination_port = 0;
  if (!ReadHost(family, TakeWord(&line), source.data()) ||
      !ReadHost(family, TakeWord(&line), destination.data()) ||
      !ReadPort(TakeWord(&line), &source_port) || !ReadPort(line, &destination_port)) {
    return false;
  }
  *address = Address(family, source.data(), source_port);
  return true;
}

ProxyHeader Parse1(Bytes bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              std::min(bytes.size(), kMostLine));
  const size_t end = text.find("\r\n");
  if (end == std::string_view::npos) return bytes.size() < kMostLine ? ProxyHeader{} : Bad();
  ProxyHeader header{ProxyHeader::Status::kWhole, end + 2, {}};
  return ReadLine(text.substr(kSignature1.size(), end - kSignature1.size()), &header.address)
             ? header
             : Bad();
}

ProxyHeader Parse2(Bytes bytes) {
  const uint8_t version = bytes[12] >> 4;
  const uint8_t command = bytes[12] & 15;  // 0 = LOCAL, 1 = PROXY
  const uint8_t family = bytes[13] >> 4;   // 0 = none, 1 = IPv4, 2 = IPv6, 3 = Unix
  const uint8_t transport = bytes[13] & 15;
  const size_t size = size_t{bytes[14]} << 8 | bytes[15];
  const size_t whole = kFixed2 + size;
  if (version != 2 || command > 1 || family > 3 || transport > 2) return Bad();
  const size_t host = family == 1 ? 4 : 16;
  const bool names = command == 1 && (family == 1 || family == 2) && transport != 0;
  if (whole > kMostProxyHeaderBytes || (names && size < 2 * host + 4)) return Bad();
  if (bytes.size() < whole) return {};
  ProxyHeader header{ProxyHeader::Status::kWhole, whole, {}};
  if (!names) return header;
  const uint8_t* source = bytes.data() + kFixed2;
  const uint8_t* port = source + 2 * host;
  header.address = Address(family == 1 ? AF_INET : AF_INET6, source,
                           static_cast<uint16_t>(port[0] << 8 | port[1]));
  return header;
}

}  // namespace

ProxyHeader ParseProxyHeader(Bytes bytes) {
  if (bytes.empty()) return {};
  if (MayBe(kSignature1, bytes))
    return bytes.size() < kSignature1.size() ? ProxyHeader{} : Parse1(bytes);
  if (!MayBe(kSignature2, bytes)) return Bad();
  return bytes.size() < kFixed2 ? ProxyHeader{} : Parse2(bytes);
}

}  // namespace seganet
