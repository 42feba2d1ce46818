// A device for engine tests: a blocking TCP socket with as much MQTT as a test needs.
#ifndef SEGANET_TEST_SUPPORT_DEVICE_CLIENT_H_
#define SEGANET_TEST_SUPPORT_DEVICE_CLIENT_H_

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>

#include "test/support/mqtt_bytes.h"
#include "test/support/patience.h"

namespace seganet::test {

class DeviceClient {
 public:
  static constexpr std::string_view kAccepted{"\x20\x02\0\0", 4};

  explicit DeviceClient(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    open_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    const int on = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  // On a socket that is connected already, and becomes the client's.
  struct FromFd {
    int fd;
  };
  explicit DeviceClient(FromFd socket) : fd_(socket.fd), open_(true) {
    fcntl(fd_, F_SETFL, fcntl(fd_, F_GETFL) & ~O_NONBLOCK);
  }
  DeviceClient(DeviceClient&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), open_(other.open_), input_(std::move(other.input_)) {}
  DeviceClient(const DeviceClient&) = delete;
  DeviceClient& operator=(const DeviceClient&) = delete;
  ~DeviceClient() { Close(); }

  bool open() const { return open_; }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }

  // Sends as much of `bytes` as the socket takes without waiting.
  size_t SendSome(std::string_view bytes) {
    const ssize_t n = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return n < 0 ? 0 : static_cast<size_t>(n);
  }

  // Returns the next `n` bytes; fewer when the connection or patience ends.
  std::string Receive(size_t n) {
    while (input_.size() < n && Fill()) {
    }
    std::string bytes = input_.substr(0, n);
    input_.erase(0, bytes.size());
    return bytes;
  }

  // Returns the next packet; an incomplete one when the connection or patience ends.
  std::string ReceivePacket() {
    size_t size = 0;
    size_t header = 1;
    do {
      while (input_.size() <= header) {
        if (!Fill()) return Receive(input_.size());
      }
      size |= size_t{static_cast<uint8_t>(input_[header]) & 0x7Fu} << (7 * (header - 1));
    } while ((static_cast<uint8_t>(input_[header++]) & 0x80) != 0 && header < 5);
    return Receive(header + size);
  }

  // True when the gateway closes the connection, whatever it sends before.
  bool ClosedByPeer() {
    while (Fill()) {
    }
    return ended_;
  }

  bool Connect(std::string_view id, uint16_t keep_alive = 0) {
    mqtt_test::ConnectFields fields;
    fields.keep_alive = keep_alive;
    fields.payload = mqtt_test::Str(id);
    return Send(mqtt_test::ConnectPacket(fields)) && Receive(4) == kAccepted;
  }

  // QoS 1, and waits for the PUBACK.
  bool Publish(std::string_view topic, std::string_view payload) {
    const unsigned id = next_id_++ % 65'535 + 1;
    return Send(mqtt_test::Publish1(topic, id, payload)) && Receive(4) == mqtt_test::Puback(id);
  }

 private:
  bool Fill() {
    pollfd poll_fd{fd_, POLLIN, 0};
    if (ended_ || poll(&poll_fd, 1, kPatienceMs) <= 0) return false;
    char buffer[4096];
    const ssize_t n = recv(fd_, buffer, sizeof buffer, 0);
    if (n <= 0) {
      ended_ = true;
      return false;
    }
    input_.append(buffer, static_cast<size_t>(n));
    return true;
  }

  int fd_;
  bool open_ = false;
  bool ended_ = false;
  unsigned next_id_ = 0;
  std::string input_;
};

}  // namespace seganet::test

#endif  // SEGANET_TEST_SUPPORT_DEVICE_CLIENT_H_
