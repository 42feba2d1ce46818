// The broker's end of an uplink connection: acknowledges each PUBLISH, and counts its records.
#ifndef SEGANET_BENCH_CORES_BROKER_END_H_
#define SEGANET_BENCH_CORES_BROKER_END_H_

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/cpu.h"

namespace seganet::bench {

// Thread safety: any member from any thread.
class BrokerEnd {
 public:
  // Owns `fd`.
  explicit BrokerEnd(int fd) : fd_(fd), thread_([this] { Run(); }) {}
  ~BrokerEnd() {
    shutdown(fd_, SHUT_RDWR);
    thread_.join();
    close(fd_);
  }
  // Records that arrived: lines of the batches, whose topics begin with kBatches, and single ones.
  uint64_t records() const { return records_.load(std::memory_order_relaxed); }
  static constexpr std::string_view kBatches = "gateway/";
  uint64_t publishes() const { return publishes_.load(std::memory_order_relaxed); }
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kReadBytes = 262'144;

  void Run() {
    NameThisThread("load-broker");
    std::vector<char> buffer(kReadBytes);
    size_t held = 0;
    std::string answers;
    pollfd readable{fd_, POLLIN, 0};
    while (poll(&readable, 1, -1) >= 0) {
      const ssize_t n = recv(fd_, buffer.data() + held, buffer.size() - held, 0);
      if (n == 0) return;
      if (n < 0) continue;
      bytes_.fetch_add(static_cast<uint64_t>(n), std::memory_order_relaxed);
      held += static_cast<size_t>(n);
      const std::string_view input(buffer.data(), held);
      size_t at = 0;
      uint64_t packets = 0, records = 0;
      while (const size_t size = Answer(input.substr(at), &answers, &records)) {
        at += size;
        ++packets;
      }
      publishes_.fetch_add(packets, std::memory_order_relaxed);
      records_.fetch_add(records, std::memory_order_relaxed);
      held -= at;
      std::memmove(buffer.data(), buffer.data() + at, held);
      if (held > buffer.size() / 2) buffer.resize(2 * buffer.size());
      // A window of 1,024 PUBACKs fits into the buffer of the socket.
      if (!answers.empty()) (void)!send(fd_, answers.data(), answers.size(), MSG_NOSIGNAL);
      answers.clear();
    }
  }

  // Appends the PUBACK of the packet at the beginning of `input`, and adds its records to
  // `*records`. Returns the size of the packet, 0 = it has not arrived completely. REQUIRES: it is
  // a PUBLISH of QoS 1 of MQTT 3.1.1.
  static size_t Answer(std::string_view input, std::string* answers, uint64_t* records) {
    size_t left = 0, at = 1;
    for (int shift = 0;; shift += 7) {
      if (at >= input.size()) return 0;
      const auto byte = static_cast<uint8_t>(input[at++]);
      left |= size_t{byte & 0x7Fu} << shift;
      if ((byte & 0x80) == 0) break;
    }
    if (at + left > input.size()) return 0;
    const size_t topic =
        size_t{static_cast<uint8_t>(input[at])} << 8 | static_cast<uint8_t>(input[at + 1]);
    const std::string_view body = input.substr(at, left);
    const bool has_lines = body.substr(2, topic).starts_with(kBatches);
    // The last line may end without a newline.
    const auto lines = std::count(body.begin(), body.end() - 1, '\n') + 1;
    *records += has_lines ? static_cast<uint64_t>(lines) : 1;
    answers->append({0x40, 2, input[at + 2 + topic], input[at + 3 + topic]});
    return at + left;
  }

  const int fd_;
  std::atomic<uint64_t> records_{0};
  std::atomic<uint64_t> publishes_{0};
  std::atomic<uint64_t> bytes_{0};
  std::thread thread_;
};

}  // namespace seganet::bench

#endif  // SEGANET_BENCH_CORES_BROKER_END_H_
