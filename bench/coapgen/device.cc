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

// RFC 7252, 4.8.
constexpr uint32_t kAckTimeoutUs = 2000000;
constexpr uint8_t kMaxRetransmit = 4;

constexpr int64_t kLateUs = 10000;

}  // namespace

CoapDevice::CoapDevice(uint32_t number, const CoapFleet& fleet)
    : number_(number),
      fleet_(fleet),
      arrivals_(fleet.rate, fleet.settings.load, number),
      random_(Mix(fleet.settings.load.seed + number)),
      id_(static_cast<uint16_t>(random_)) {
  uint8_t last = 0;
  for (const std::string& segment : fleet_.settings.path) {
    const bool own = segment == "{id}";
    coap::AppendOption(options_, &last, coap::kUriPath, own ? DeviceId(record_device()) : segment);
  }
  options_.push_back('\xFF');
}

CoapDevice::~CoapDevice() {
  if (fd_ >= 0) close(fd_);
}

bool CoapDevice::Connect(int epoll) {
  const Settings& settings = fleet_.settings;
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
  return epoll_ctl(epoll, EPOLL_CTL_ADD, fd_, &event) == 0 && Flush();
}

bool CoapDevice::Pump() {
  const Settings& settings = fleet_.settings;
  const int64_t now_us = NowUs();
  if (settings.closed && (now_us < start_us_ || now_us >= end_us_)) return true;
  while (flights_.size() < settings.window && (settings.closed || seq_ < due_)) {
    if (settings.closed) {
      Post(now_us, now_us);
      continue;
    }
    Post(start_us_ + arrivals_.at_us(), now_us);
    arrivals_.Next();
  }
  return Flush();
}

void CoapDevice::Post(int64_t intended_us, int64_t now_us) {
  Totals& totals = fleet_.totals;
  Flight flight{};
  flight.intended_us = intended_us;
  flight.sent_us = now_us;
  flight.id = id_++;
  // RFC 7252, 4.8.2: ACK_TIMEOUT to ACK_TIMEOUT * ACK_RANDOM_FACTOR (1.5).
  random_ = Mix(random_);
  flight.timeout_us = kAckTimeoutUs + static_cast<uint32_t>(random_ % (kAckTimeoutUs / 2));
  flight.again_us = now_us + flight.timeout_us;
  next_again_us_ = std::min(next_again_us_, flight.again_us);
  const size_t before = out_.size();
  AppendRequest(seq_, flight);
  totals.request_bytes += out_.size() - before;
  flights_.push_back(flight);
  ++seq_;
  totals.send_lag_us.Add(now_us - intended_us);
  if (now_us - intended_us > kLateUs) ++totals.late;
  ++totals.sent;
  if (fleet_.settings.udp) Flush();
}

void CoapDevice::AppendRequest(uint32_t seq, const Flight& flight) {
  Record record;
  record.device = record_device();
  record.seq = seq;
  record.intended_us = flight.intended_us;
  const size_t wanted = fleet_.settings.request_bytes;
  // Header: length, code and token; over UDP type, code, identifier and token.
  const size_t used = (fleet_.settings.udp ? 8 : 7) + options_.size();
  std::string body = options_;
  body.resize(options_.size() + std::max(wanted > used ? wanted - used : 0, kMaxFields));
  char* const payload = body.data() + options_.size();
  const char* const end = WritePayload(payload, record, wanted > used ? wanted - used : 0);
  body.resize(static_cast<size_t>(end - body.data()));
  char token[4];
  for (int i = 0; i < 4; ++i) token[i] = static_cast<char>(seq >> (8 * i));
  if (fleet_.settings.udp) {
    coap::AppendDatagram(out_, coap::kCon, fleet_.settings.method, flight.id, {token, 4});
    out_ += body;
  } else {
    coap::Append(out_, fleet_.settings.method, {token, 4}, body);
  }
}

// A datagram that the kernel does not accept is lost, as on any network.
bool CoapDevice::Flush() {
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

bool CoapDevice::OnEvents(uint32_t events) {
  if ((events & ~static_cast<uint32_t>(EPOLLOUT)) != 0 && !Read()) return false;
  return Flush() && Pump();
}

// Reads until the kernel has no more data, because epoll reports an edge only once.
bool CoapDevice::Read() {
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

bool CoapDevice::OnStream(std::string_view in, int64_t now_us) {
  std::string joined;
  if (!in_.empty()) in = joined = std::move(in_.append(in));
  coap::Message message;
  while (true) {
    const coap::Parsed parsed = coap::Parse(in, &message);
    if (parsed == coap::Parsed::kBad) return false;
    if (parsed == coap::Parsed::kMore) break;
    if (message.code >> 5 != 7) OnAnswer(message.token, message.code, message.size, now_us);
    in.remove_prefix(message.size);
  }
  in_.assign(in);
  return true;
}

void CoapDevice::OnDatagram(std::string_view in, int64_t now_us) {
  coap::Datagram message;
  if (!coap::ParseDatagram(in, &message)) {
    ++fleet_.totals.unknown;
    return;
  }
  const bool answers = message.type == coap::kAck || message.type == coap::kRst;
  if (answers && message.code == 0) {
    const size_t i = FindId(message.id);
    if (i == flights_.size()) {
      ++fleet_.totals.unknown;
    } else if (message.type == coap::kRst) {
      ++fleet_.totals.resets;
      Done(i, false);
    } else {
      flights_[i].acked = true;
    }
    return;
  }
  OnAnswer(message.token, message.code, in.size(), now_us);
  if (message.type != coap::kCon) return;
  // RFC 7252, 5.2.2: a separate response needs an acknowledgement.
  coap::AppendDatagram(out_, coap::kAck, 0, message.id, {});
  Flush();
}

void CoapDevice::OnAnswer(std::string_view token, uint8_t code, size_t bytes, int64_t now_us) {
  Totals& totals = fleet_.totals;
  uint32_t seq = 0;
  for (size_t i = 0; i < token.size() && i < 4; ++i) {
    seq |= static_cast<uint32_t>(static_cast<uint8_t>(token[i])) << (8 * i);
  }
  const uint32_t first = seq_ - static_cast<uint32_t>(flights_.size());
  const size_t index = seq - first;
  if (token.size() != 4 || index >= flights_.size() || flights_[index].done) {
    ++totals.unknown;
    return;
  }
  totals.answer_us.Add(now_us - flights_[index].intended_us);
  totals.round_us.Add(now_us - flights_[index].sent_us);
  totals.response_bytes += bytes;
  const bool good = code >> 5 == 2;
  ++(good                   ? totals.answered
     : code >> 5 == 4       ? totals.client_errors
     : code == (5 << 5 | 3) ? totals.unavailable
                            : totals.server_errors);
  Done(index, good);
}

size_t CoapDevice::FindId(uint16_t id) const {
  if (flights_.empty()) return 0;
  const auto index = static_cast<uint16_t>(id - flights_.front().id);
  return std::min<size_t>(index, flights_.size());
}

void CoapDevice::Done(size_t index, bool good) {
  if (flights_[index].done) return;
  flights_[index].done = true;
  if (!good) {
    const auto size = static_cast<uint32_t>(flights_.size());
    failed_.push_back(seq_ - size + static_cast<uint32_t>(index));
  }
  while (!flights_.empty() && flights_.front().done) flights_.pop_front();
}

void CoapDevice::Retransmit(int64_t now_us) {
  if (!fleet_.settings.udp || now_us < next_again_us_) return;
  next_again_us_ = kNever;
  for (size_t i = 0; i < flights_.size(); ++i) {
    Flight& flight = flights_[i];
    if (flight.done) continue;
    if (now_us >= flight.again_us) {
      if (flight.retransmissions == kMaxRetransmit) {
        ++fleet_.totals.timed_out;
        flight.done = true;
        failed_.push_back(seq_ - static_cast<uint32_t>(flights_.size() - i));
        continue;
      }
      ++flight.retransmissions;
      flight.timeout_us *= 2;
      flight.again_us = now_us + flight.timeout_us;
      // RFC 7252, 4.2: an acknowledged request is not retransmitted; its answer may still be lost.
      if (!flight.acked) {
        AppendRequest(seq_ - static_cast<uint32_t>(flights_.size() - i), flight);
        Flush();
        ++fleet_.totals.retransmitted;
      }
    }
    next_again_us_ = std::min(next_again_us_, flight.again_us);
  }
  while (!flights_.empty() && flights_.front().done) flights_.pop_front();
}

std::string CoapDevice::StreamJson() const {
  std::string out = "{\"device\":" + std::to_string(record_device()) +
                    ",\"kind\":0,\"issued\":" + std::to_string(seq_) + ",\"unacked\":[";
  std::vector<uint32_t> open = failed_;
  for (size_t i = 0; i < flights_.size(); ++i) {
    if (!flights_[i].done) open.push_back(seq_ - static_cast<uint32_t>(flights_.size() - i));
  }
  for (size_t i = 0; i < open.size(); ++i) {
    const std::string seq = std::to_string(open[i]);
    out += (i > 0 ? ",[" : "[") + seq + "," + seq + "]";
  }
  return out + "]}";
}

}  // namespace bench
