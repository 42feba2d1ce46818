// Devices on one end of socket pairs: each sends as fast as its PUBACKs allow.
#ifndef SEGANET_BENCH_CORES_DEVICE_LOAD_H_
#define SEGANET_BENCH_CORES_DEVICE_LOAD_H_

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/cpu.h"
#include "test/support/mqtt_bytes.h"

namespace seganet::bench {

// Messages of one write of a device. The last one is an alarm (class 1).
inline constexpr size_t kMessagesPerWrite = 20;
// Unacknowledged messages of a device, in writes.
inline constexpr size_t kWrites = 3;
inline constexpr size_t kPayloadBytes = 200;

// A device that is connected to `fd`, which it owns.
class LoadDevice {
 public:
  LoadDevice(int fd, size_t number) : fd_(fd) {
    const std::string id = "dev-" + std::to_string(number);
    std::string payload = "{\"n\":" + std::to_string(number) + ",\"x\":\"";
    payload.append(kPayloadBytes - payload.size() - 2, 'x').append("\"}");
    for (size_t i = 1; i <= kMessagesPerWrite; ++i) {
      const bool is_alarm = i == kMessagesPerWrite;
      const std::string topic = mqtt_test::Str("d/" + id + (is_alarm ? "/alarm" : "/t"));
      const std::string packet = mqtt_test::Packet(0x32, topic + std::string(2, '\0') + payload);
      id_at_[i - 1] = messages_.size() + packet.size() - payload.size() - 2;
      messages_.append(packet);
    }
    mqtt_test::ConnectFields fields;
    fields.keep_alive = 600;
    fields.payload = mqtt_test::Str(id);
    connect_ = mqtt_test::ConnectPacket(fields);
  }
  ~LoadDevice() {
    if (fd_ >= 0) close(fd_);
  }
  LoadDevice(LoadDevice&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)),
        messages_(std::move(other.messages_)),
        connect_(std::move(other.connect_)),
        id_at_(other.id_at_) {}

  int fd() const { return fd_; }
  size_t in_flight() const { return in_flight_; }

  // Connects as MQTT 3.1.1. Returns false if the gateway does not accept that within 5 s.
  bool Connect() {
    pollfd readable{fd_, POLLIN, 0};
    char answer[4];
    return send(fd_, connect_.data(), connect_.size(), MSG_NOSIGNAL) > 0 &&
           poll(&readable, 1, 5'000) == 1 && recv(fd_, answer, sizeof answer, 0) == 4 &&
           answer[0] == 0x20 && answer[3] == 0;
  }

  // Sends what the PUBACKs leave room for. Returns false if the socket did not accept it.
  bool Send() {
    while (in_flight_ + kMessagesPerWrite <= kWrites * kMessagesPerWrite) {
      for (const size_t at : id_at_) {
        last_sent_ = static_cast<uint16_t>(last_sent_ % 65'535 + 1);
        messages_[at] = static_cast<char>(last_sent_ >> 8);
        messages_[at + 1] = static_cast<char>(last_sent_ & 0xFF);
      }
      const ssize_t sent = send(fd_, messages_.data(), messages_.size(), MSG_NOSIGNAL);
      if (sent != static_cast<ssize_t>(messages_.size())) return false;
      in_flight_ += kMessagesPerWrite;
    }
    return true;
  }

  // Reads PUBACKs and returns their number in `*count`. Returns false if something else arrived, or
  // one is missing: [MQTT-4.6.0-2] they leave in order.
  bool Receive(size_t* count) {
    std::array<uint8_t, 4 * kWrites * kMessagesPerWrite> bytes;
    const ssize_t n = recv(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (n <= 0) return false;
    *count = 0;
    for (ssize_t i = 0; i < n; ++i) {
      packet_[packet_bytes_++] = bytes[static_cast<size_t>(i)];
      if (packet_bytes_ < 4) continue;
      packet_bytes_ = 0;
      last_acknowledged_ = static_cast<uint16_t>(last_acknowledged_ % 65'535 + 1);
      const int id = packet_[2] << 8 | packet_[3];
      if (packet_[0] != 0x40 || id != last_acknowledged_) return false;
      ++*count;
    }
    if (*count > in_flight_) return false;
    in_flight_ -= *count;
    return true;
  }

 private:
  int fd_;
  std::string messages_;  // of one write
  std::string connect_;
  std::array<size_t, kMessagesPerWrite> id_at_{};  // where the packet identifiers are
  uint16_t last_sent_ = 0;
  uint16_t last_acknowledged_ = 0;
  size_t in_flight_ = 0;
  std::array<uint8_t, 4> packet_{};  // that has not arrived completely
  size_t packet_bytes_ = 0;
};

// A thread that drives some of the devices.
//
// Thread safety: any member from any thread. REQUIRES: the devices are connected.
class alignas(64) DeviceLoad {
 public:
  explicit DeviceLoad(std::vector<LoadDevice> devices)
      : devices_(std::move(devices)), thread_([this] { Run(); }) {}
  ~DeviceLoad() {
    gives_up_ = stops_ = true;
    thread_.join();
  }

  // Sends no more, and ends when all PUBACKs have arrived.
  void Stop() { stops_ = true; }
  bool has_ended() const { return has_ended_; }
  // A device lost its connection, or a PUBACK was missing.
  bool has_failed() const { return has_failed_; }
  uint64_t acknowledged() const { return acknowledged_.load(std::memory_order_relaxed); }

 private:
  void Run() {
    NameThisThread("load-devices");
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    for (LoadDevice& device : devices_) {
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.ptr = &device;
      epoll_ctl(epoll, EPOLL_CTL_ADD, device.fd(), &event);
      if (!device.Send()) has_failed_ = true;
    }
    uint64_t acknowledged = 0;
    size_t in_flight = devices_.size() * kWrites * kMessagesPerWrite;
    std::array<epoll_event, 64> events;
    while (!has_failed_ && !gives_up_ && in_flight > 0) {
      const int ready = epoll_wait(epoll, events.data(), static_cast<int>(events.size()), 100);
      for (int i = 0; i < ready; ++i) {
        auto* device = static_cast<LoadDevice*>(events[static_cast<size_t>(i)].data.ptr);
        const size_t before = device->in_flight();
        size_t count = 0;
        if (!device->Receive(&count) || (!stops_ && !device->Send())) has_failed_ = true;
        acknowledged += count;
        in_flight += device->in_flight() - before;
      }
      acknowledged_.store(acknowledged, std::memory_order_relaxed);
    }
    close(epoll);
    has_ended_ = true;
  }

  std::vector<LoadDevice> devices_;
  std::atomic<bool> stops_{false};
  std::atomic<bool> gives_up_{false};
  std::atomic<bool> has_failed_{false};
  std::atomic<bool> has_ended_{false};
  alignas(64) std::atomic<uint64_t> acknowledged_{0};
  std::thread thread_;
};

}  // namespace seganet::bench

#endif  // SEGANET_BENCH_CORES_DEVICE_LOAD_H_
