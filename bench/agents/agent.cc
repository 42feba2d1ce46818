#include "agent.h"

#include <poll.h>

#include <algorithm>

#include "../common/clock.h"
#include "hand_over.h"

namespace bench {
namespace {

constexpr int64_t kFirstBackoffUs = 100000;
constexpr int64_t kLastBackoffUs = 2000000;

}  // namespace

void Agent::Run() {
  while (true) {
    int64_t now_us = NowUs();
    if (!session_.open() && connection_ > 0 && now_us >= retry_us_) OpenSession();
    // Reads the device only while the window has room: back-pressure of the broker.
    bool room = session_.open() && waiting_.size() < options_.window;
    pollfd wait[3] = {{hand_over_, POLLIN, 0},
                      {session_.fd(), POLLIN, 0},
                      {device_, static_cast<short>(room ? POLLIN : 0), 0}};
    poll(wait, 3, TimeoutMs(now_us));
    if (wait[0].revents != 0 && !TakeDevice()) return;
    if (wait[1].revents != 0 && !ReadSession()) LoseSession();
    if (!AnswerDevice()) DropDevice();
    // Ignores events of the old descriptor if a new connection has just arrived.
    if (wait[2].revents != 0 && wait[2].fd == device_ && !ReadDevice()) DropDevice();
    KeepAlive(NowUs());
  }
}

bool Agent::TakeDevice() {
  std::string bytes;
  int fd = TakeOver(hand_over_, &bytes);
  if (fd < 0) return false;
  DropDevice();
  device_ = fd;
  ++connection_;
  from_device_ = std::move(bytes);
  // The first CONNACK waits for the session, because the benchmark waits for it. Later ones do not.
  if (connection_ == 1) OpenSession();
  mqtt::Packet packet;
  if (mqtt::Parse(from_device_, &packet) != mqtt::Parsed::kPacket) return true;
  from_device_.erase(0, packet.size);
  to_device_.assign("\x20\x02\x00\x00", 4);
  if (!AnswerDevice() || !ReadDevice()) DropDevice();
  return true;
}

void Agent::DropDevice() {
  if (device_ >= 0) close(device_);
  device_ = -1;
  from_device_.clear();
  to_device_.clear();
}

void Agent::OpenSession() {
  if (session_.open()) return;
  backoff_us_ = std::clamp(backoff_us_ * 2, kFirstBackoffUs, kLastBackoffUs);
  if (session_.Connect(context_, options_.host, options_.port)) {
    std::string connect;
    mqtt::AppendConnect(connect, "agent-" + options_.device, false,
                        static_cast<uint16_t>(options_.keepalive_s));
    char answer[64];
    int got = session_.Write(connect) ? 0 : -1;
    while (got == 0) got = session_.Read(answer, sizeof answer);
    // A broker's first packet is the CONNACK [MQTT-3.2.0-1]. It is alone, because the agent has
    // sent no request yet.
    if (got == 4 && answer[0] == 0x20 && answer[3] == 0) {
      backoff_us_ = 0;
      written_us_ = NowUs();
      from_broker_.clear();
      for (Waiting& each : waiting_) {
        if (each.acked) continue;
        each.packet[0] = static_cast<char>(each.packet[0] | 8);  // DUP
        if (!session_.Write(each.packet)) return LoseSession();
      }
      return;
    }
  }
  LoseSession();
}

void Agent::LoseSession() {
  session_.Close();
  backoff_us_ = std::max(backoff_us_, kFirstBackoffUs);
  retry_us_ = NowUs() + backoff_us_;
}

bool Agent::ReadSession() {
  char buffer[4096];
  do {
    int got = session_.Read(buffer, sizeof buffer);
    if (got < 0) return false;
    from_broker_.append(buffer, static_cast<size_t>(got));
  } while (session_.pending());
  std::string_view rest = from_broker_;
  mqtt::Packet packet;
  mqtt::Parsed parsed;
  while ((parsed = mqtt::Parse(rest, &packet)) == mqtt::Parsed::kPacket) {
    rest.remove_prefix(packet.size);
    if (packet.type == mqtt::kPuback && packet.body.size() >= 2) Acknowledged(packet.U16(0));
  }
  from_broker_.erase(0, from_broker_.size() - rest.size());
  return parsed != mqtt::Parsed::kBad;
}

void Agent::Acknowledged(uint16_t broker_id) {
  // Brokers answer in order, so the first entry nearly always matches.
  for (Waiting& each : waiting_) {
    if (each.broker_id != broker_id || each.acked) continue;
    each.acked = true;
    break;
  }
  for (; !waiting_.empty() && waiting_.front().acked; waiting_.pop_front()) {
    const Waiting& done = waiting_.front();
    if (done.device_id != 0 && done.connection == connection_ && device_ >= 0) {
      mqtt::AppendPuback(to_device_, done.device_id);
    }
  }
}

bool Agent::AnswerDevice() {
  if (to_device_.empty()) return true;
  bool sent = send(device_, to_device_.data(), to_device_.size(), MSG_NOSIGNAL) ==
              static_cast<ssize_t>(to_device_.size());
  to_device_.clear();
  return sent;
}

bool Agent::ReadDevice() {
  // Never blocks: it handles the bytes of the hand-over even if no others follow.
  char buffer[16384];
  ssize_t got = recv(device_, buffer, sizeof buffer, MSG_DONTWAIT);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return false;
  if (got > 0) from_device_.append(buffer, static_cast<size_t>(got));
  std::string_view rest = from_device_;
  mqtt::Packet packet;
  mqtt::Parsed parsed;
  while ((parsed = mqtt::Parse(rest, &packet)) == mqtt::Parsed::kPacket) {
    if (!Serve(packet)) return false;
    rest.remove_prefix(packet.size);
  }
  from_device_.erase(0, from_device_.size() - rest.size());
  return parsed != mqtt::Parsed::kBad && AnswerDevice();
}

bool Agent::Serve(const mqtt::Packet& packet) {
  mqtt::Publish publish;
  switch (packet.type) {
    case mqtt::kPublish:
      return mqtt::ParsePublish(packet, &publish) && publish.qos < 2 && Publish(publish);
    case mqtt::kPingreq:
      to_device_.append("\xd0\x00", 2);
      return true;
    default:
      return false;  // DISCONNECT, and packets that this agent does not support
  }
}

bool Agent::Publish(const mqtt::Publish& publish) {
  waiting_.push_back({next_id_, publish.packet_id, connection_, false, {}});
  next_id_ = next_id_ == 65535 ? 1 : static_cast<uint16_t>(next_id_ + 1);
  Waiting& message = waiting_.back();
  mqtt::AppendPublish(message.packet, publish.topic, publish.payload, message.broker_id, false);
  written_us_ = NowUs();
  // Without a session the message waits until OpenSession() publishes it.
  if (session_.open() && !session_.Write(message.packet)) LoseSession();
  return true;
}

void Agent::KeepAlive(int64_t now_us) {
  if (!session_.open() || now_us - written_us_ < options_.keepalive_s * 500000LL) return;
  written_us_ = now_us;
  if (!session_.Write(std::string_view("\xc0\x00", 2))) LoseSession();
}

int Agent::TimeoutMs(int64_t now_us) const {
  if (connection_ == 0) return -1;
  int64_t due_us = session_.open() ? written_us_ + options_.keepalive_s * 500000LL : retry_us_;
  return static_cast<int>(std::clamp<int64_t>((due_us - now_us) / 1000 + 1, 0, 60000));
}

}  // namespace bench
