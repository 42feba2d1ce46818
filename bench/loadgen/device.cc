#include "device.h"

#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "../common/clock.h"
#include "../common/mqtt.h"

namespace bench {
namespace {

// A source address has 28,232 ports by default, and other programs need some of them.
constexpr uint32_t kDevicesPerSource = 20000;

// Binds the source address if the gateway is on loopback: 127.0.0.1 for the first devices, then
// 127.0.0.2 and so on.
bool BindSource(int fd, const sockaddr_in& gateway, uint32_t number) {
  const uint32_t source = number / kDevicesPerSource;
  if (source == 0 || ntohl(gateway.sin_addr.s_addr) >> 24 != 127) return true;
  const int one = 1;
  setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + source);
  return bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

}  // namespace

Device::Device(uint32_t number, Fleet& fleet)
    : number_(number), fleet_(fleet), arrivals_(fleet.rate, fleet.options, number) {}

bool Device::Connect(int epoll) {
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0) return false;
  const int one = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  // Small like a device's, so that back-pressure of the gateway reaches the generator instead of
  // filling megabytes of kernel buffers.
  const int send_buffer = 32768;
  setsockopt(fd_, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
  // The congestion control of most devices. BBR, if it is the machine's default, would pace each
  // write with a timer.
  setsockopt(fd_, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
  const sockaddr_in& gateway = fleet_.options.gateway;
  if (!BindSource(fd_, gateway, number_) ||
      (connect(fd_, reinterpret_cast<const sockaddr*>(&gateway), sizeof gateway) != 0 &&
       errno != EINPROGRESS)) {
    close(fd_);
    fd_ = -1;
    return false;
  }
  // Edge-triggered: epoll reports readiness once, and the interest set never changes.
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.u32 = number_;
  epoll_ctl(epoll, EPOLL_CTL_ADD, fd_, &event);
  state_ = State::kConnecting;
  return true;
}

bool Device::Fail() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  state_ = State::kDown;
  in_.clear();
  rest_.clear();
  return false;
}

bool Device::OnEvents(uint32_t events) {
  if (state_ == State::kDown) return true;
  if (state_ == State::kConnecting) {
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return Fail();
    if ((events & EPOLLOUT) == 0) return true;
    std::string connect;
    const LoadOptions& options = fleet_.options;
    mqtt::AppendConnect(connect, DeviceId(options.first_device + number_), options.clean,
                        options.keepalive_s);
    state_ = State::kAwaitingConnack;
    if (!Write(connect)) return false;
  }
  if ((events & EPOLLOUT) != 0 && !rest_.empty() && !FlushRest()) return false;
  if ((events & ~static_cast<uint32_t>(EPOLLOUT)) != 0 && !Read()) return false;
  return Pump();
}

// Reads until the kernel has no more data, because epoll reports an edge only once.
bool Device::Read() {
  static char buffer[65536];
  while (true) {
    const ssize_t got = recv(fd_, buffer, sizeof buffer, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return true;
    if (got <= 0) return Fail();
    std::string_view in(buffer, static_cast<size_t>(got));
    std::string joined;
    if (!in_.empty()) in = joined = std::move(in_.append(in));
    const ssize_t used = OnBytes(in);
    if (used < 0) return Fail();
    in_.assign(in.substr(static_cast<size_t>(used)));
    if (static_cast<size_t>(got) < sizeof buffer) return true;
  }
}

ssize_t Device::OnBytes(std::string_view in) {
  const int64_t now_us = NowUs();
  mqtt::Packet packet;
  size_t used = 0;
  while (true) {
    const mqtt::Parsed parsed = mqtt::Parse(in.substr(used), &packet);
    if (parsed == mqtt::Parsed::kMore) return static_cast<ssize_t>(used);
    const bool good = parsed == mqtt::Parsed::kPacket;
    if (good && packet.type == mqtt::kPuback && packet.body.size() >= 2 && state_ == State::kUp) {
      Acknowledge(packet.U16(0), now_us);
    } else if (good && packet.type == mqtt::kConnack && state_ == State::kAwaitingConnack &&
               packet.body.size() >= 2 && packet.body[1] == 0) {
      if (!OnConnack()) return -1;
    } else if (!good || packet.type != mqtt::kPingresp) {
      ++fleet_.counters.protocol_errors;
      return -1;
    }
    used += packet.size;
  }
}

bool Device::OnConnack() {
  state_ = State::kUp;
  written_us_ = NowUs();
  // [MQTT-4.4.0-1] Resends unacknowledged messages, in order, before new ones.
  for (size_t i = 0; i < flights_.size(); ++i) {
    if (flights_[i].acked) continue;
    char* const begin = fleet_.scratch.data();
    rest_.append(begin, WritePublish(begin, flights_[i], flights_.IdOf(i), true));
    ++fleet_.counters.resent;
  }
  return rest_.empty() || FlushRest();
}

void Device::Acknowledge(uint16_t packet_id, int64_t now_us) {
  LoadCounters& counters = fleet_.counters;
  const size_t i = flights_.Find(packet_id);
  if (i == flights_.size() || flights_[i].acked) {
    ++counters.acks_unknown;
    return;
  }
  if (i > 0) ++counters.acks_out_of_order;
  Flight& flight = flights_[i];
  flight.acked = true;
  ++counters.acked;
  int64_t& longest_us = longest_us_[flight.kind];
  longest_us = std::max(longest_us, now_us - flight.intended_us);
  if (flight.intended_us >= start_us_ + fleet_.options.skip_us) {
    counters.ack_us.Add(now_us - flight.intended_us);
    counters.puback_us[flight.kind].Add(now_us - flight.sent_us);
  }
  if (StepCounters* step = counters.StepAt(flight.intended_us - start_us_)) {
    ++step->acked;
    step->ack_us.Add(now_us - flight.intended_us);
  }
  if (i == 0) flights_.Drop();
}

// Keeps the bytes that the kernel does not accept until the next edge.
bool Device::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EAGAIN) return Fail();
    if (n < 0) break;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  if (!bytes.empty()) rest_.assign(bytes);
  return true;
}

bool Device::FlushRest() {
  const std::string rest = std::move(rest_);
  rest_.clear();
  return Write(rest);
}

uint8_t Device::NextKind() const {
  const LoadOptions& options = fleet_.options;
  if (!options.kinds.empty()) return options.kinds[(issued_ + number_ * 37) % options.kinds.size()];
  const bool alarm =
      options.alarm_every > 0 && issued_ % options.alarm_every == number_ % options.alarm_every;
  return alarm ? kAlarm : kNormal;
}

size_t Device::NextBytes() const {
  const LoadOptions& options = fleet_.options;
  const size_t range = options.payload_max - options.payload_min;
  if (range == 0) return options.payload_min;
  return options.payload_min +
         Mix(options.seed + Mix(uint64_t{number_} << 40 | issued_)) % (range + 1);
}

char* Device::WritePublish(char* out, const Flight& flight, uint16_t packet_id, bool dup) const {
  Record record;
  record.device = fleet_.options.first_device + number_;
  record.seq = flight.seq;
  record.intended_us = flight.intended_us;
  record.kind = flight.kind;
  const std::string_view level = flight.kind == kNormal
                                     ? std::string_view(fleet_.options.topic_kind)
                                     : kLevelOfKind[flight.kind];
  // Writes the payload first, at its position for a remaining length of two bytes, which nearly all
  // messages have.
  const size_t topic = 2 + 9 + 1 + level.size();
  char* payload = out + 1 + 2 + 2 + topic + 2;
  const auto bytes = static_cast<size_t>(WritePayload(payload, record, flight.bytes) - payload);
  const size_t remaining = 2 + topic + 2 + bytes;
  const size_t length_bytes = remaining < 128       ? 1
                              : remaining < 16384   ? 2
                              : remaining < 2097152 ? 3
                                                    : 4;
  char* const moved = out + 1 + length_bytes + 2 + topic + 2;
  if (moved != payload) std::memmove(moved, payload, bytes);
  *out++ = static_cast<char>(mqtt::kPublish << 4 | (dup ? 8 : 0) | 2);
  size_t length = remaining;
  for (size_t i = 1; i <= length_bytes; ++i, length >>= 7) {
    *out++ = static_cast<char>((length & 0x7f) | (i < length_bytes ? 0x80 : 0));
  }
  *out++ = static_cast<char>(topic >> 8);
  *out++ = static_cast<char>(topic & 0xff);
  out = WriteDevice(WriteText(out, "d/"), record.device);
  *out++ = '/';
  out = WriteText(out, level);
  *out++ = static_cast<char>(packet_id >> 8);
  *out++ = static_cast<char>(packet_id & 0xff);
  return out + bytes;
}

char* Device::WriteNext(char* out, int64_t now_us) {
  LoadCounters& counters = fleet_.counters;
  Flight flight{};
  flight.kind = NextKind();
  flight.seq = seq_[flight.kind]++;
  flight.bytes = static_cast<uint32_t>(NextBytes());
  flight.intended_us = start_us_ + arrivals_.at_us();
  flight.sent_us = now_us;
  flights_.Push(flight);
  out = WritePublish(out, flight, flights_.IdOf(flights_.size() - 1), false);
  const int64_t lag_us = now_us - flight.intended_us;
  const bool late = lag_us > fleet_.options.late_us;
  counters.send_lag_us.Add(lag_us);
  if (late) ++counters.late;
  ++counters.sent;
  if (StepCounters* step = counters.StepAt(arrivals_.at_us())) {
    ++step->sent;
    if (late) ++step->late;
  }
  ++issued_;
  arrivals_.Next();
  return out;
}

bool Device::Pump() {
  if (state_ != State::kUp) return true;
  const size_t inflight = fleet_.options.inflight;
  while (issued_ < due_ && rest_.empty() && flights_.size() < inflight) {
    const int64_t now_us = NowUs();
    char* const begin = fleet_.scratch.data();
    char* at = begin;
    while (issued_ < due_ && flights_.size() < inflight && at - begin < ssize_t{kMaxWrite}) {
      at = WriteNext(at, now_us);
    }
    written_us_ = now_us;
    if (!Write({begin, at})) return false;
  }
  return true;
}

bool Device::Ping(int64_t now_us) {
  // [MQTT-3.1.2-23] Sends a packet in each keep-alive interval, spread over its last quarter, so
  // that devices that connected together do not ping together.
  const int64_t after_us =
      int64_t{fleet_.options.keepalive_s} * (750000 + number_ * int64_t{61803} % 250000);
  if (state_ != State::kUp || now_us - written_us_ < after_us || !rest_.empty()) return true;
  written_us_ = now_us;
  ++fleet_.counters.pings;
  return Write({"\xC0\0", 2});
}

void Device::Finish() {
  if (state_ == State::kUp && rest_.empty()) Write({"\xE0\0", 2});
  Fail();
}

std::string Device::StreamsJson() const {
  std::string text;
  for (uint8_t kind = 0; kind < kKinds; ++kind) {
    // The result always has the first two kinds, and others if they were sent.
    if (kind > kAlarm && seq_[kind] == 0) continue;
    if (kind > 0) text += ",";
    text += "{\"device\":" + std::to_string(fleet_.options.first_device + number_) +
            ",\"kind\":" + std::to_string(kind) + ",\"issued\":" + std::to_string(seq_[kind]) +
            ",\"longestUs\":" + std::to_string(longest_us_[kind]) + ",\"unacked\":[";
    bool first = true;
    for (size_t i = 0; i < flights_.size(); ++i) {
      const Flight& flight = flights_[i];
      if (flight.acked || flight.kind != kind) continue;
      if (!first) text += ",";
      first = false;
      const std::string seq = std::to_string(flight.seq);
      text += "[" + seq + "," + seq + "]";
    }
    text += "]}";
  }
  return text;
}

}  // namespace bench
