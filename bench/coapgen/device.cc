#include "device.h"

#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "../common/clock.h"
#include "../common/record.h"

namespace bench {
namespace {

constexpr int64_t kAckTimeoutUs = 2'000'000;  // RFC 7252 4.8
constexpr unsigned kDatagrams = 16;           // a read
constexpr size_t kDatagramBytes = 1500;

}  // namespace

Device::Device(uint32_t number, const Settings& settings, Totals& totals)
    : number_(number), settings_(settings), totals_(totals), path_(settings.path) {
  constexpr std::string_view kDevice = "{device}";
  const size_t at = path_.find(kDevice);
  if (at != std::string::npos) path_.replace(at, kDevice.size(), DeviceId(settings.first + number));
}

Device::~Device() {
  if (fd_ >= 0) close(fd_);
}

bool Device::Connect(int epoll) {
  epoll_ = epoll;
  fd_ = socket(AF_INET, (settings_.udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC, 0);
  if (fd_ < 0 || connect(fd_, reinterpret_cast<const sockaddr*>(&settings_.server),
                         sizeof settings_.server) != 0) {
    return false;
  }
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u32 = number_;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd_, &event) != 0) return false;
  if (settings_.udp) return true;
  const int one = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  // RFC 8323, 5.3: the first message is a CSM. An empty one has all defaults.
  coap::Append(out_, coap::kCsm, {}, {});
  return Flush();
}

bool Device::Pump() {
  if (settings_.closed) {
    for (int64_t now_us = NowUs(); flights_.size() < settings_.window && now_us < totals_.end_us;) {
      Post(now_us);
    }
  }
  while (!due_.empty() && flights_.size() < settings_.window) {
    Post(due_.front());
    due_.pop_front();
  }
  return Flush();
}

bool Device::OnEvents(uint32_t events) {
  if ((events & EPOLLOUT) != 0 && !Flush()) return false;
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) return true;
  return (settings_.udp ? ReceiveDatagrams() : ReceiveStream()) && Pump();
}

bool Device::OnTime(int64_t now_us) {
  if (!settings_.udp) return true;
  for (Flight& flight : flights_) {
    if (flight.is_taken || now_us - flight.written_us < kAckTimeoutUs) continue;
    flight.written_us = now_us;
    ++totals_.sent_again;
    (void)!send(fd_, flight.datagram.data(), flight.datagram.size(), MSG_DONTWAIT);
  }
  return true;
}

std::string Device::Unanswered() const {
  std::string text;
  for (const Flight& flight : flights_) {
    const std::string seq = std::to_string(flight.seq);
    text += (text.empty() ? "[" : ",[") + seq + "," + seq + "]";
  }
  return text;
}

void Device::Post(int64_t intended_us) {
  Record record;
  record.device = settings_.first + number_;
  record.seq = seq_;
  record.intended_us = intended_us;
  body_.clear();
  uint8_t last = 0;
  std::string_view path = path_;
  for (size_t slash = 0; slash != std::string_view::npos; path.remove_prefix(slash + 1)) {
    slash = path.find('/');
    coap::AppendOption(body_, &last, coap::kUriPath, path.substr(0, slash));
    if (slash == std::string_view::npos) break;
  }
  body_.push_back('\xFF');
  const size_t head = settings_.udp ? 4 + 4 : 2 + 1 + 4;  // with the token
  const size_t used = head + body_.size();
  const size_t wanted = settings_.request_bytes > used ? settings_.request_bytes - used : 0;
  const size_t before_payload = body_.size();
  body_.resize(before_payload + std::max(wanted, kMaxFields));
  char* const payload = body_.data() + before_payload;
  body_.resize(static_cast<size_t>(WritePayload(payload, record, wanted) - body_.data()));
  char token[4];
  for (int i = 0; i < 4; ++i) token[i] = static_cast<char>(seq_ >> (8 * i));
  const int64_t now_us = NowUs();
  Flight flight{seq_++, intended_us, now_us, now_us, {}, false};
  if (settings_.udp) {
    coap::AppendDatagram(flight.datagram, coap::kConfirmable, settings_.method,
                         static_cast<uint16_t>(flight.seq), {token, 4}, body_);
    totals_.request_bytes += flight.datagram.size();
    (void)!send(fd_, flight.datagram.data(), flight.datagram.size(), MSG_DONTWAIT);
  } else {
    const size_t before = out_.size();
    coap::Append(out_, settings_.method, {token, 4}, body_);
    totals_.request_bytes += out_.size() - before;
  }
  flights_.push_back(std::move(flight));
  totals_.send_lag_us.Add(now_us - intended_us);
  ++totals_.sent;
}

bool Device::ReceiveStream() {
  char buffer[65536];
  const ssize_t n = recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (n <= 0) return false;
  in_.append(buffer, static_cast<size_t>(n));
  size_t used = 0;
  coap::Message message;
  for (;;) {
    const coap::Parsed parsed = coap::Parse(std::string_view(in_).substr(used), &message);
    if (parsed == coap::Parsed::kBad) return false;
    if (parsed == coap::Parsed::kMore) break;
    used += message.size;
    if (message.code >> 5 == 7) continue;  // signalling
    Answered(message.token, message.code, message.size);
  }
  in_.erase(0, used);
  return true;
}

bool Device::ReceiveDatagrams() {
  static char bytes[kDatagrams][kDatagramBytes];
  mmsghdr messages[kDatagrams]{};
  iovec vectors[kDatagrams];
  for (unsigned i = 0; i < kDatagrams; ++i) {
    vectors[i] = {bytes[i], kDatagramBytes};
    messages[i].msg_hdr.msg_iov = &vectors[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  const int n = recvmmsg(fd_, messages, kDatagrams, MSG_DONTWAIT, nullptr);
  // ECONNREFUSED: nobody is there yet, or no more.
  for (int i = 0; i < n; ++i) OnDatagram({bytes[i], messages[i].msg_len});
  return true;
}

void Device::OnDatagram(std::string_view datagram) {
  if (datagram.size() < 4) return;
  const auto byte = [&datagram](size_t i) { return static_cast<uint8_t>(datagram[i]); };
  const size_t token = byte(0) & 15;
  const unsigned type = byte(0) >> 4 & 3;
  const uint8_t code = byte(1);
  if (type == coap::kConfirmable) {  // a separate answer wants an acknowledgement (RFC 7252 5.2.2)
    const char empty[] = {0x60, 0, datagram[2], datagram[3]};
    (void)!send(fd_, empty, sizeof empty, MSG_DONTWAIT);
  }
  if (code == 0) {
    const unsigned id = byte(2) << 8 | byte(3);
    for (Flight& flight : flights_) {
      if ((flight.seq & 0xFFFF) == id) flight.is_taken = true;
    }
  } else if (datagram.size() >= 4 + token) {
    Answered(datagram.substr(4, token), code, datagram.size());
  }
}

void Device::Answered(std::string_view token, uint8_t code, size_t bytes) {
  totals_.response_bytes += bytes;
  uint32_t seq = 0;
  for (size_t i = 0; i < token.size() && i < 4; ++i) {
    seq |= static_cast<uint32_t>(static_cast<uint8_t>(token[i])) << (8 * i);
  }
  const auto flight = std::find_if(flights_.begin(), flights_.end(),
                                   [seq](const Flight& each) { return each.seq == seq; });
  if (flight == flights_.end()) {
    ++totals_.unknown;
    return;
  }
  const int64_t now_us = NowUs();
  totals_.answer_us.Add(now_us - flight->intended_us);
  totals_.round_us.Add(now_us - flight->sent_us);
  ++(code >> 5 == 2 ? totals_.answered : totals_.refused);  // 2.01 of what was not there yet
  flights_.erase(flight);
}

bool Device::Flush() {
  const ssize_t n =
      out_.empty() ? 0 : send(fd_, out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n < 0 && errno != EAGAIN && errno != EINTR) return false;
  if (n > 0) out_.erase(0, static_cast<size_t>(n));
  if (out_.empty() == waits_) {
    waits_ = !out_.empty();
    epoll_event event{};
    event.events = EPOLLIN | (waits_ ? static_cast<uint32_t>(EPOLLOUT) : 0u);
    event.data.u32 = number_;
    epoll_ctl(epoll_, EPOLL_CTL_MOD, fd_, &event);
  }
  return true;
}

}  // namespace bench
