// The lower bound: accepts MQTT connections, reads, acknowledges every PUBLISH, forwards nothing.
// Any further cost of a gateway is its own work. One thread, epoll, ends on SIGTERM.

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <unordered_map>

#include "../common/clock.h"
#include "../common/listen.h"
#include "../common/mqtt.h"
#include "../common/options.h"

namespace {

using bench::mqtt::Packet;
using bench::mqtt::Parsed;

volatile sig_atomic_t stopped = 0;

// Answers the complete packets in `in`. Returns the bytes used, or -1 to close.
ssize_t Answer(std::string_view in, std::string& out, uint64_t& publishes) {
  size_t used = 0;
  Packet packet;
  while (true) {
    Parsed parsed = bench::mqtt::Parse(in.substr(used), &packet);
    if (parsed == Parsed::kBad) return -1;
    if (parsed == Parsed::kMore) return static_cast<ssize_t>(used);
    used += packet.size;
    bench::mqtt::Publish publish;
    switch (packet.type) {
      case bench::mqtt::kConnect:
        out.append("\x20\x02\x00\x00", 4);
        break;
      case bench::mqtt::kPublish:
        if (!bench::mqtt::ParsePublish(packet, &publish)) return -1;
        ++publishes;
        if (publish.qos == 1) bench::mqtt::AppendPuback(out, publish.packet_id);
        break;
      case bench::mqtt::kPingreq:
        out.append("\xd0\x00", 2);
        break;
      default:
        return -1;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Options options({{"host", "127.0.0.1"}, {"port", "1883"}}, argc, argv);
  bench::RaiseFileLimit(50064);
  struct sigaction action {};
  action.sa_handler = [](int) { stopped = 1; };
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);

  int listener =
      bench::Listen(options.Text("host"), static_cast<uint16_t>(options.Integer("port", 1, 65535)),
                    SOCK_NONBLOCK);
  int poll = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = listener;
  epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);

  std::unordered_map<int, std::string> rest;  // incomplete packets, by connection
  std::string out;
  uint64_t publishes = 0;
  static char buffer[65536];
  epoll_event events[256];
  while (!stopped) {
    int n = epoll_wait(poll, events, 256, 1000);
    for (int i = 0; i < n; ++i) {
      int fd = events[i].data.fd;
      if (fd == listener) {
        int client = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (client < 0) continue;
        int one = 1;
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        event.data.fd = client;
        epoll_ctl(poll, EPOLL_CTL_ADD, client, &event);
        continue;
      }
      ssize_t got = recv(fd, buffer, sizeof buffer, 0);
      if (got < 0 && errno == EAGAIN) continue;
      std::string_view in(buffer, got > 0 ? static_cast<size_t>(got) : 0);
      auto held = rest.empty() ? rest.end() : rest.find(fd);
      std::string joined;
      if (held != rest.end()) {
        joined = std::move(held->second);
        rest.erase(held);
        in = joined.append(in);
      }
      out.clear();
      ssize_t used = got > 0 ? Answer(in, out, publishes) : -1;
      if (used < 0 || (!out.empty() && send(fd, out.data(), out.size(), 0) < 0)) {
        close(fd);
        continue;
      }
      if (static_cast<size_t>(used) < in.size())
        rest[fd].assign(in.substr(static_cast<size_t>(used)));
    }
  }
  std::printf("{\"publishes\":%llu,\"cpuSeconds\":%f}\n",
              static_cast<unsigned long long>(publishes), bench::CpuSeconds());
  return 0;
}
