#include "connection.h"

#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "../common/clock.h"
#include "device.h"

namespace bench {
namespace {

// Bytes of an observation's token. Those of requests have four, those of hellos one.
constexpr size_t kObserveToken = 2;

}  // namespace

Connection::~Connection() {
  if (fd_ >= 0) close(fd_);
}

uint16_t Connection::Attach(CoapDevice* device) {
  devices_.push_back(device);
  return static_cast<uint16_t>(devices_.size() - 1);
}

bool Connection::Open(int epoll) {
  const Settings& settings = fleet_.settings;
  opened_us_ = NowUs();
  fd_ = socket(AF_INET, (settings.udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC, 0);
  if (fd_ < 0 || connect(fd_, reinterpret_cast<const sockaddr*>(&settings.server),
                         sizeof settings.server) != 0) {
    return false;
  }
  if (!settings.udp) {
    const int one = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    // RFC 8323, 5.3: the first message is a CSM. An empty one means all defaults.
    coap::Append(out_, coap::kCsm, {}, {});
  }
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.u32 = number_;
  ready_ = settings.hellos.empty();
  return epoll_ctl(epoll, EPOLL_CTL_ADD, fd_, &event) == 0 && (ready_ ? Flush() : SendHello());
}

bool Connection::SendHello() {
  const Settings& settings = fleet_.settings;
  out_ += settings.hellos[number_ * settings.hello_steps + answers_.size()];
  return Flush();
}

bool Connection::OnHelloAnswer(const coap::Message& message, int64_t now_us) {
  if (message.code >> 5 != 2) {
    refused_ = message.code;
    return false;
  }
  answers_.emplace_back(message.body);
  if (answers_.size() < fleet_.settings.hello_steps) return SendHello();
  ready_ = true;
  fleet_.totals.hello_us.Add(now_us - opened_us_);
  return true;
}

// A datagram that the kernel does not accept is lost, as on any network.
bool Connection::Flush() {
  if (out_.empty()) return true;
  if (fleet_.settings.udp) {
    (void)!send(fd_, out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    out_.clear();
    return true;
  }
  while (!out_.empty()) {
    const ssize_t n = send(fd_, out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN;
    out_.erase(0, static_cast<size_t>(n));
  }
  return true;
}

bool Connection::OnEvents(uint32_t events) {
  if ((events & ~static_cast<uint32_t>(EPOLLOUT)) != 0 && !Read()) return false;
  Resume();
  return Flush();
}

// Reads until the kernel has no more data, because epoll reports an edge only once.
bool Connection::Read() {
  static char buffer[65536];
  while (true) {
    const ssize_t n = recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN) return true;
    // Over UDP the server may start later: ECONNREFUSED means only that it is not running now.
    if (n < 0 && (errno == EINTR || fleet_.settings.udp)) continue;
    if (fleet_.settings.udp) {
      OnDatagram({buffer, static_cast<size_t>(n)}, NowUs());
      continue;
    }
    if (n <= 0 || !OnStream({buffer, static_cast<size_t>(n)}, NowUs())) return false;
    if (static_cast<size_t>(n) < sizeof buffer) return true;
  }
}

bool Connection::OnStream(std::string_view in, int64_t now_us) {
  std::string joined;
  if (!in_.empty()) in = joined = std::move(in_.append(in));
  coap::Message message;
  while (true) {
    const coap::Parsed parsed = coap::Parse(in, &message);
    if (parsed == coap::Parsed::kBad) return false;
    if (parsed == coap::Parsed::kMore) break;
    if (!OnMessage(message, now_us)) return false;
    in.remove_prefix(message.size);
  }
  in_.assign(in);
  return true;
}

bool Connection::OnMessage(const coap::Message& message, int64_t now_us) {
  const uint8_t kind = message.code >> 5;
  if (message.code == coap::kPing) {
    coap::Append(out_, coap::kPong, message.token, {});
    ++fleet_.totals.pongs;
  } else if (kind == 0 && message.code != 0) {
    AnswerRequest(message.token);
  } else if (kind == 2 || kind == 4 || kind == 5) {
    if (!ready_) return OnHelloAnswer(message, now_us);
    if (message.token.size() == kObserveToken) {
      observations_.Take(message.code, message.body, now_us);
    } else {
      OnAnswer(message.token, message.code, message.size, now_us);
    }
  }
  return true;
}

void Connection::AnswerRequest(std::string_view token) {
  using std::literals::string_view_literals::operator""sv;
  // Content-Format 10000 (application/vnd.ocf+cbor), and {"v": 1}.
  coap::Append(out_, coap::kContent, token, "\xC2\x27\x10\xFF\xA1\x61v\x01"sv);
  ++fleet_.totals.requests_answered;
}

void Connection::OnDatagram(std::string_view in, int64_t now_us) {
  coap::Datagram message;
  if (!coap::ParseDatagram(in, &message)) {
    ++fleet_.totals.unknown;
    return;
  }
  const bool answers = message.type == coap::kAck || message.type == coap::kRst;
  if (answers && message.code == 0) {
    devices_[0]->OnEmpty(message);
    return;
  }
  OnAnswer(message.token, message.code, in.size(), now_us);
  if (message.type != coap::kCon) return;
  // RFC 7252, 5.2.2: a separate response needs an acknowledgement.
  coap::AppendDatagram(out_, coap::kAck, 0, message.id, {});
  Flush();
}

void Connection::OnAnswer(std::string_view token, uint8_t code, size_t bytes, int64_t now_us) {
  const auto byte = [token](size_t i) { return static_cast<uint8_t>(token[i]); };
  const size_t index = token.size() == 4 ? size_t{byte(0)} | size_t{byte(1)} << 8 : 0;
  if (token.size() != 4 || index >= devices_.size()) {
    ++fleet_.totals.unknown;
    return;
  }
  const auto seq = static_cast<uint16_t>(byte(2) | byte(3) << 8);
  devices_[index]->OnAnswer(seq, code, bytes, now_us);
}

void Connection::Resume() {
  // A device that needs more room waits again, at the end.
  for (size_t left = waiting_.size(); left > 0 && has_room(); --left) {
    CoapDevice* const device = waiting_.front();
    waiting_.pop_front();
    device->Resume();
  }
}

}  // namespace bench
