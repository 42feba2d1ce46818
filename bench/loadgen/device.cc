#include "device.h"

#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>

#include "../common/clock.h"
#include "../common/mqtt.h"

namespace bench {

Device::Device(uint32_t number, const LoadOptions& options, LoadCounters& counters)
    : number_(number),
      options_(options),
      counters_(counters),
      id_(DeviceId(options.first_device + number)) {}

bool Device::Connect(int epoll) {
  epoll_ = epoll;
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0) return false;
  int one = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  // As small as a device's: a gateway that stops reading must be felt here, not in megabytes of
  // kernel.
  int send_buffer = 32768;
  setsockopt(fd_, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
  int result =
      connect(fd_, reinterpret_cast<const sockaddr*>(&options_.gateway), sizeof options_.gateway);
  if (result != 0 && errno != EINPROGRESS) {
    close(fd_);
    fd_ = -1;
    return false;
  }
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT;
  event.data.u32 = number_;
  wants_write_ = true;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, fd_, &event);
  state_ = State::kConnecting;
  return true;
}

bool Device::Fail() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  state_ = State::kDown;
  in_.clear();
  out_.clear();
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
    mqtt::AppendConnect(out_, id_, options_.clean, options_.keepalive_s);
    state_ = State::kAwaitingConnack;
    return Flush();
  }
  if ((events & EPOLLOUT) != 0 && !Flush()) return false;
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && !Read()) return false;
  return Pump();
}

bool Device::Flush() {
  while (!out_.empty()) {
    ssize_t n = send(fd_, out_.data(), out_.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EAGAIN) return Fail();
    if (n < 0) break;
    out_.erase(0, static_cast<size_t>(n));
  }
  bool wants_write = !out_.empty();
  if (wants_write != wants_write_) {
    wants_write_ = wants_write;
    epoll_event event{};
    event.events = wants_write ? EPOLLIN | EPOLLOUT : EPOLLIN;
    event.data.u32 = number_;
    epoll_ctl(epoll_, EPOLL_CTL_MOD, fd_, &event);
  }
  return true;
}

bool Device::Read() {
  static char buffer[65536];
  ssize_t got = recv(fd_, buffer, sizeof buffer, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (got <= 0) return Fail();
  std::string_view in(buffer, static_cast<size_t>(got));
  if (!in_.empty()) in = in_.append(in);
  mqtt::Packet packet;
  size_t used = 0;
  while (true) {
    mqtt::Parsed parsed = mqtt::Parse(in.substr(used), &packet);
    if (parsed == mqtt::Parsed::kMore) break;
    bool good = parsed == mqtt::Parsed::kPacket && packet.body.size() >= 2;
    if (good && packet.type == mqtt::kPuback && state_ == State::kUp) {
      Acknowledge(packet.U16(0));
    } else if (good && packet.type == mqtt::kConnack && state_ == State::kAwaitingConnack &&
               packet.body[1] == 0) {
      state_ = State::kUp;
      // [MQTT-4.4.0-1] Unacknowledged messages go again, in order, before new ones.
      for (const Flight& flight : flights_) {
        if (flight.acked) continue;
        AppendPublish(flight, true);
        ++counters_.resent;
      }
      if (!Flush()) return false;
    } else {
      ++counters_.protocol_errors;
      return Fail();
    }
    used += packet.size;
  }
  std::string rest(in.substr(used));
  in_ = std::move(rest);
  return true;
}

void Device::Acknowledge(uint16_t packet_id) {
  size_t i = 0;
  while (i < flights_.size() && (flights_[i].packet_id != packet_id || flights_[i].acked)) ++i;
  if (i == flights_.size()) {
    ++counters_.acks_unknown;
    return;
  }
  if (i > 0) ++counters_.acks_out_of_order;
  flights_[i].acked = true;
  ++counters_.acked;
  const Record& record = flights_[i].record;
  if (record.intended_us >= start_us_ + options_.skip_us) {
    const int64_t now_us = NowUs();
    counters_.ack_us.Add(now_us - record.intended_us);
    counters_.puback_us[record.kind].Add(now_us - flights_[i].sent_us);
  }
  while (!flights_.empty() && flights_.front().acked) flights_.pop_front();
}

int64_t Device::IntendedUs(uint64_t index) const {
  // Slot i of all devices together is i * period / devices after the start: evenly spread phases.
  double slot = static_cast<double>(index) * options_.devices + number_;
  return start_us_ + std::llround(slot * 1e6 / (options_.rate * options_.devices));
}

void Device::AppendPublish(const Flight& flight, bool dup) {
  static std::string payload;
  WritePayload(payload, flight.record, options_.payload_bytes);
  std::string topic =
      "d/" + id_ + "/" + (flight.record.kind == kAlarm ? "alarm" : options_.topic_kind);
  mqtt::AppendPublish(out_, topic, payload, flight.packet_id, dup);
}

bool Device::Pump() {
  if (state_ != State::kUp) return true;
  while (issued_ < due_ && out_.empty() && flights_.size() < options_.inflight) {
    Flight flight{};
    flight.acked = false;
    bool alarm = options_.alarm_every > 0 &&
                 issued_ % options_.alarm_every == number_ % options_.alarm_every;
    flight.record.kind = alarm ? kAlarm : kNormal;
    flight.record.device = options_.first_device + number_;
    flight.record.seq = seq_[flight.record.kind]++;
    flight.record.intended_us = IntendedUs(issued_++);
    packet_id_ = packet_id_ == 65535 ? 1 : static_cast<uint16_t>(packet_id_ + 1);
    flight.packet_id = packet_id_;
    flight.sent_us = NowUs();
    flights_.push_back(flight);
    AppendPublish(flight, false);
    int64_t lag_us = flight.sent_us - flight.record.intended_us;
    counters_.send_lag_us.Add(lag_us);
    if (lag_us > options_.late_us) ++counters_.late;
    ++counters_.sent;
    if (!Flush()) return false;
  }
  return true;
}

void Device::Finish() {
  if (state_ == State::kUp) {
    mqtt::AppendHeader(out_, mqtt::kDisconnect << 4, 0);
    Flush();
  }
  Fail();
}

std::string Device::StreamsJson() const {
  std::string text;
  for (uint8_t kind = 0; kind < 2; ++kind) {
    if (kind > 0) text += ",";
    text += "{\"device\":" + std::to_string(options_.first_device + number_) +
            ",\"kind\":" + std::to_string(kind) + ",\"issued\":" + std::to_string(seq_[kind]) +
            ",\"unacked\":[";
    bool first = true;
    for (const Flight& flight : flights_) {
      if (flight.acked || flight.record.kind != kind) continue;
      if (!first) text += ",";
      first = false;
      std::string seq = std::to_string(flight.record.seq);
      text += "[" + seq + "," + seq + "]";
    }
    text += "]}";
  }
  return text;
}

}  // namespace bench
