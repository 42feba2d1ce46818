// A CoAP device for engine tests: a blocking UDP socket with as much CoAP as a test needs.
#ifndef SEGANET_TEST_SUPPORT_COAP_CLIENT_H_
#define SEGANET_TEST_SUPPORT_COAP_CLIENT_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "test/support/patience.h"

namespace seganet::test {

// Codes (RFC 7252 12.1, RFC 8516) and options.
inline constexpr unsigned kCreated = 0x41, kChanged = 0x44, kContent = 0x45, kUnauthorized = 0x81,
                          kForbidden = 0x83, kNotFound = 0x84, kTooMany = 0x9D, kUnavailable = 0xA3,
                          kTimeout = 0xA4;
inline constexpr unsigned kObserve = 6, kMaxAge = 14;

// Options in rising order of their numbers.
using CoapOptions = std::vector<std::pair<unsigned, std::string>>;

struct CoapMessage {
  unsigned type = 0;  // 0 CON, 1 NON, 2 ACK, 3 RST
  unsigned code = 0;  // 0x44 = 2.04
  unsigned id = 0;
  std::string token;
  CoapOptions options;
  std::string payload;

  std::optional<std::string> Option(unsigned number) const {
    for (const auto& [n, value] : options) {
      if (n == number) return value;
    }
    return std::nullopt;
  }
  // Returns an option that is a number; -1 = it is not there.
  int64_t Number(unsigned number) const {
    const auto value = Option(number);
    if (!value) return -1;
    int64_t n = 0;
    for (char c : *value) n = n << 8 | static_cast<uint8_t>(c);
    return n;
  }
};

inline constexpr unsigned kCoapCon = 0, kCoapNon = 1, kCoapAck = 2, kCoapRst = 3;
inline constexpr unsigned kCoapGet = 1, kCoapPost = 2, kCoapPut = 3;

inline std::string CoapOptionBytes(const CoapOptions& options) {
  std::string bytes;
  unsigned last = 0;
  const auto nibble = [](size_t n) { return n < 13 ? n : n < 269 ? 13u : 14u; };
  const auto extend = [&bytes](size_t n) {
    if (n >= 269) {
      bytes.push_back(static_cast<char>((n - 269) >> 8));
      bytes.push_back(static_cast<char>((n - 269) & 255));
    } else if (n >= 13) {
      bytes.push_back(static_cast<char>(n - 13));
    }
  };
  for (const auto& [number, value] : options) {
    const size_t delta = number - last;
    last = number;
    bytes.push_back(static_cast<char>(nibble(delta) << 4 | nibble(value.size())));
    extend(delta);
    extend(value.size());
    bytes += value;
  }
  return bytes;
}

inline std::string CoapBytes(const CoapMessage& m) {
  std::string bytes;
  bytes.push_back(static_cast<char>(0x40 | m.type << 4 | m.token.size()));
  bytes.push_back(static_cast<char>(m.code));
  bytes.push_back(static_cast<char>(m.id >> 8));
  bytes.push_back(static_cast<char>(m.id & 255));
  bytes += m.token + CoapOptionBytes(m.options);
  if (!m.payload.empty()) bytes += '\xFF' + m.payload;
  return bytes;
}

// Reads options and payload; for the tests' own messages, so without much checking.
inline void ReadCoapBody(std::string_view bytes, CoapMessage* m) {
  unsigned number = 0;
  size_t at = 0;
  const auto extended = [&](unsigned n) -> unsigned {
    if (n < 13) return n;
    unsigned value = static_cast<uint8_t>(bytes[at++]);
    if (n == 14) value = (value << 8 | static_cast<uint8_t>(bytes[at++])) + 256;
    return value + 13;
  };
  while (at < bytes.size()) {
    const auto head = static_cast<uint8_t>(bytes[at++]);
    if (head == 0xFF) break;
    number += extended(head >> 4);
    const unsigned length = extended(head & 15);
    m->options.emplace_back(number, bytes.substr(at, length));
    at += length;
  }
  m->payload = bytes.substr(at);
}

class CoapClient {
 public:
  explicit CoapClient(uint16_t port, const char* host = "127.0.0.1")
      : fd_(socket(AF_INET, SOCK_DGRAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    inet_pton(AF_INET, host, &address.sin_addr);
    // Accepts answers from this address alone from now on.
    open_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  CoapClient(CoapClient&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), open_(other.open_), next_id_(other.next_id_) {}
  CoapClient(const CoapClient&) = delete;
  CoapClient& operator=(const CoapClient&) = delete;
  ~CoapClient() {
    if (fd_ >= 0) close(fd_);
  }

  bool open() const { return open_; }

  bool Send(std::string_view bytes) {
    return send(fd_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
  }

  // A request to /a/b/c?x=y, and its message id.
  CoapMessage Request(unsigned code, std::string_view path, std::string payload = "",
                      unsigned type = kCoapCon) {
    CoapMessage m;
    m.type = type;
    m.code = code;
    m.id = next_id_++;
    m.token = {static_cast<char>(m.id >> 8), static_cast<char>(m.id & 255)};
    m.payload = std::move(payload);
    const size_t query = path.find('?');
    for (std::string_view rest = path.substr(1, query == path.npos ? path.npos : query - 1);;) {
      const size_t slash = rest.find('/');
      m.options.emplace_back(11, rest.substr(0, slash));
      if (slash == rest.npos) break;
      rest.remove_prefix(slash + 1);
    }
    if (query != path.npos) m.options.emplace_back(15, path.substr(query + 1));
    return m;
  }

  // nullopt when nothing arrives in time.
  std::optional<CoapMessage> Receive(int timeout_ms = kPatienceMs) {
    const std::optional<std::string> bytes = ReceiveBytes(timeout_ms);
    if (!bytes || bytes->size() < 4) return std::nullopt;
    CoapMessage m;
    const auto at = [&](size_t i) {
      return static_cast<unsigned>(static_cast<uint8_t>((*bytes)[i]));
    };
    m.type = at(0) >> 4 & 3;
    m.code = at(1);
    m.id = at(2) << 8 | at(3);
    m.token = bytes->substr(4, at(0) & 15);
    ReadCoapBody(std::string_view(*bytes).substr(4 + m.token.size()), &m);
    return m;
  }
  std::optional<std::string> ReceiveBytes(int timeout_ms = kPatienceMs) {
    pollfd poll_fd{fd_, POLLIN, 0};
    if (poll(&poll_fd, 1, timeout_ms) <= 0) return std::nullopt;
    char buffer[4096];
    const ssize_t n = recv(fd_, buffer, sizeof buffer, 0);
    if (n < 0) return std::nullopt;
    return std::string(buffer, static_cast<size_t>(n));
  }

  // Sends it and returns the code of the answer with its token, 0 = no answer.
  unsigned Ask(const CoapMessage& request) {
    if (!Send(CoapBytes(request))) return 0;
    while (auto answer = Receive()) {
      if (answer->code == 0 || answer->token != request.token) continue;
      last_ = *answer;
      if (answer->type == kCoapCon) Acknowledge(answer->id);
      return answer->code;
    }
    return 0;
  }
  unsigned Post(std::string_view path, std::string payload) {
    return Ask(Request(kCoapPost, path, std::move(payload)));
  }
  const CoapMessage& last() const { return last_; }

  bool Acknowledge(unsigned id) {
    CoapMessage ack;
    ack.type = kCoapAck;
    ack.id = id;
    return Send(CoapBytes(ack));
  }

 private:
  int fd_;
  bool open_ = false;
  unsigned next_id_ = 1;
  CoapMessage last_;
};

}  // namespace seganet::test

#endif  // SEGANET_TEST_SUPPORT_COAP_CLIENT_H_
