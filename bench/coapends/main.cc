// Both ends of requests that a gateway forwards, CoAP over TCP. --role devices answers each request
// with 2.05: on connections that it opens, or with --listen on those that it accepts. --role peers
// keeps --window GETs open on each of its connections (closed loop).
//
// --hellos FILE has the first message of each connection, whose answer must be 2.xx; an empty one
// means that none is sent. --bodies FILE has options and payload of the answers (devices: the first
// one) or of the requests (peers: one after the other). Both are lists of a length (4 bytes, little
// endian) and that many bytes.
//
// Standard output: {"event":"ready"} when all connections are open; with --role peers, the result
// as one JSON object.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../common/clock.h"
#include "../common/coap.h"
#include "../common/histogram.h"
#include "../common/list.h"
#include "../common/listen.h"
#include "../common/options.h"

namespace bench {
namespace {

constexpr uint8_t kContent = 0x45;

struct Totals {
  uint64_t answered = 0;  // 2.xx, in the measured time
  uint64_t all = 0;       // 2.xx, at any time
  uint64_t errors = 0;    // other answers, at any time
  Histogram round_us;
};

struct Connection {
  int fd = -1;
  bool ready = false;
  std::string in, out;
  std::vector<int64_t> sent_us;  // by slot, which is the token
};

class Ends {
 public:
  explicit Ends(const Options& options)
      : is_peers_(options.Choice("role", {"devices", "peers"}) == 1),
        window_(static_cast<size_t>(options.Integer("window", 1, 1024))),
        warmup_us_(std::llround(options.Number("warmup", 0, 3600) * 1e6)),
        seconds_(options.Number("seconds", 0.1, 3600)),
        bodies_(ReadList(options.Text("bodies"))),
        epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

  bool Connect(const std::string& host, uint16_t port, const std::vector<std::string>& hellos) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    inet_pton(AF_INET, host.c_str(), &address.sin_addr);
    for (const std::string& hello : hellos) {
      const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return false;
      Connection* const made = Add(fd);
      made->out = hello;
      made->ready = hello.empty();
      missing_ += made->ready ? 0 : 1;
      if (!Flush(made)) return false;
    }
    while (missing_ > 0) {
      if (!Wait(-1)) return false;
    }
    return true;
  }

  void Serve(uint16_t port) {
    listener_ = Listen("127.0.0.1", port, SOCK_NONBLOCK);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = nullptr;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, listener_, &event);
  }

  bool Answer() {
    while (Wait(-1)) {
    }
    return false;
  }

  // Keeps the windows full for the warm-up and the measured time.
  bool Ask() {
    const int64_t start_us = NowUs();
    from_us_ = start_us + warmup_us_;
    to_us_ = from_us_ + std::llround(seconds_ * 1e6);
    for (const auto& connection : connections_) {
      connection->sent_us.assign(window_, 0);
      for (size_t slot = 0; slot < window_; ++slot) Get(connection.get(), slot, start_us);
      if (!Flush(connection.get())) return false;
    }
    double cpu = 0;
    for (int64_t now = start_us; now < to_us_; now = NowUs()) {
      if (now < from_us_) cpu = CpuSeconds();
      if (!Wait(100)) return false;
    }
    std::printf(
        "{\"answered\":%llu,\"all\":%llu,\"errors\":%llu,\"perSecond\":%.1f,\"cpuSeconds\":%.3f,"
        "\"seconds\":%."
        "3f,"
        "\"roundUs\":%s}\n",
        static_cast<unsigned long long>(totals_.answered),
        static_cast<unsigned long long>(totals_.all),
        static_cast<unsigned long long>(totals_.errors),
        static_cast<double>(totals_.answered) / seconds_, CpuSeconds() - cpu, seconds_,
        totals_.round_us.Json().c_str());
    return true;
  }

 private:
  Connection* Add(int fd) {
    const int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    connections_.push_back(std::make_unique<Connection>());
    Connection* const made = connections_.back().get();
    made->fd = fd;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = made;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
    return made;
  }

  void Get(Connection* connection, size_t slot, int64_t now_us) {
    const char token[2] = {static_cast<char>(slot), static_cast<char>(slot >> 8)};
    coap::Append(connection->out, coap::kGet, {token, 2}, bodies_[next_++ % bodies_.size()]);
    connection->sent_us[slot] = now_us;
  }

  // False when a connection that this program has opened is lost.
  bool Wait(int timeout_ms) {
    epoll_event events[256];
    const int n = epoll_wait(epoll_, events, 256, timeout_ms);
    for (int i = 0; i < n; ++i) {
      auto* const connection = static_cast<Connection*>(events[i].data.ptr);
      if (connection == nullptr) {
        const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (fd >= 0) Add(fd);
      } else if (!Read(connection) || !Flush(connection)) {
        if (listener_ < 0) return false;
        close(connection->fd);
      }
    }
    return true;
  }

  bool Read(Connection* connection) {
    static char buffer[65536];
    const ssize_t n = recv(connection->fd, buffer, sizeof buffer, 0);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    if (n == 0) return false;
    connection->in.append(buffer, static_cast<size_t>(n));
    std::string_view in = connection->in;
    const int64_t now_us = NowUs();
    coap::Message message;
    for (;;) {
      const coap::Parsed parsed = coap::Parse(in, &message);
      if (parsed == coap::Parsed::kBad) return false;
      if (parsed == coap::Parsed::kMore) break;
      if (!Take(connection, message, now_us)) return false;
      in.remove_prefix(message.size);
    }
    connection->in.assign(in);
    return true;
  }

  bool Take(Connection* connection, const coap::Message& message, int64_t now_us) {
    const unsigned code_class = message.code >> 5;
    if (code_class == 7) {
      if (message.code == coap::kPing)
        coap::Append(connection->out, coap::kPong, message.token, {});
      return true;
    }
    if (code_class == 0) {
      if (message.code != 0 && !is_peers_) {
        coap::Append(connection->out, kContent, message.token, bodies_.at(0));
      }
      return true;
    }
    if (!connection->ready) {
      connection->ready = true;
      --missing_;
      return code_class == 2;
    }
    if (!is_peers_ || message.token.size() != 2) return true;
    const size_t slot = static_cast<uint8_t>(message.token[0]) |
                        static_cast<size_t>(static_cast<uint8_t>(message.token[1])) << 8;
    if (slot >= window_) return false;
    ++(code_class == 2 ? totals_.all : totals_.errors);
    if (code_class == 2 && now_us >= from_us_ && now_us < to_us_) {
      ++totals_.answered;
      totals_.round_us.Add(now_us - connection->sent_us[slot]);
    }
    if (now_us < to_us_) Get(connection, slot, now_us);
    return true;
  }

  // What the socket does not take now is sent after the next read.
  static bool Flush(Connection* connection) {
    std::string& out = connection->out;
    while (!out.empty()) {
      const ssize_t n = send(connection->fd, out.data(), out.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno == EAGAIN;
      out.erase(0, static_cast<size_t>(n));
    }
    return true;
  }

  const bool is_peers_;
  const size_t window_;
  const int64_t warmup_us_;
  const double seconds_;
  const std::vector<std::string> bodies_;
  const int epoll_;
  int listener_ = -1;
  size_t missing_ = 0;  // connections whose first message has no answer
  size_t next_ = 0;
  int64_t from_us_ = 0, to_us_ = 0;
  Totals totals_;
  std::vector<std::unique_ptr<Connection>> connections_;
};

int Main(int argc, char** argv) {
  const Options options({{"role", "devices"},
                         {"host", "127.0.0.1"},
                         {"port", "0"},
                         {"listen", "0"},
                         {"hellos", ""},
                         {"bodies", ""},
                         {"window", "16"},
                         {"warmup", "1"},
                         {"seconds", "5"}},
                        argc, argv);
  Ends ends(options);
  const auto listen = static_cast<uint16_t>(options.Integer("listen", 0, 65535));
  if (listen != 0) {
    ends.Serve(listen);
  } else if (!ends.Connect(options.Text("host"),
                           static_cast<uint16_t>(options.Integer("port", 1, 65535)),
                           ReadList(options.Text("hellos")))) {
    std::fprintf(stderr, "coapends: not every connection was accepted\n");
    return 1;
  }
  std::puts("{\"event\":\"ready\"}");
  std::fflush(stdout);
  if (options.Text("role") == "devices") return ends.Answer() ? 0 : 1;
  if (ends.Ask()) return 0;
  std::fprintf(stderr, "coapends: a connection was lost\n");
  return 1;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) { return bench::Main(argc, argv); }
