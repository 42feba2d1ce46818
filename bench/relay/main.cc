// A relay between a gateway and its broker that counts bytes, TLS records and TCP segments in both
// directions.
//
// Standard output, one JSON object per line: {"event":"listening","port":…},
// {"event":"progress","us":…,"open":…, "up":{…},"down":{…}} every --progress-ms with the sums of
// all connections (see Traffic::Json), the same for each connection at the end. Ends on SIGTERM.

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "../common/clock.h"
#include "../common/options.h"
#include "pair.h"

namespace bench {
namespace {

volatile sig_atomic_t stopped = 0;

sockaddr_in Address(const std::string& host, int64_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  if (inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) {
    std::fprintf(stderr, "relay: '%s' is not an IPv4 address\n", host.c_str());
    std::exit(2);
  }
  return address;
}

class Relay {
 public:
  explicit Relay(const Options& options)
      : epoll_(epoll_create1(EPOLL_CLOEXEC)),
        broker_(Address(options.Text("to-host"), options.Integer("to-port", 1, 65535))) {
    const int mss = static_cast<int>(options.Integer("mss", 0, 65495));
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int one = 1;
    setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    // Loopback's own is 64 KiB. A size as on Ethernet makes the segment count meaningful.
    if (mss > 0) setsockopt(listener_, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof mss);
    sockaddr_in own = Address(options.Text("host"), options.Integer("port", 0, 65535));
    socklen_t length = sizeof own;
    if (bind(listener_, reinterpret_cast<sockaddr*>(&own), sizeof own) != 0 ||
        listen(listener_, 64) != 0 ||
        getsockname(listener_, reinterpret_cast<sockaddr*>(&own), &length) != 0) {
      std::perror("relay: listen");
      std::exit(1);
    }
    epoll_event event{};
    event.events = EPOLLIN;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, listener_, &event);
    std::printf("{\"event\":\"listening\",\"port\":%d}\n", ntohs(own.sin_port));
    std::fflush(stdout);
  }

  void Step(int timeout_ms) {
    epoll_event events[64];
    const int n = epoll_wait(epoll_, events, 64, timeout_ms);
    for (int i = 0; i < n; ++i) {
      if (events[i].data.ptr == nullptr) {
        Accept();
      } else {
        auto* side = static_cast<Pair::Side*>(events[i].data.ptr);
        // Closed pairs stay in the list, because a later event of this round may refer to one.
        side->pair->OnEvents(side->of_client, events[i].events);
      }
    }
  }

  void Report() {
    Traffic up;
    Traffic down;
    size_t open = 0;
    for (const auto& pair : pairs_) {
      pair->ReadSegments();
      up.Add(pair->Up());
      down.Add(pair->Down());
      if (pair->open()) ++open;
    }
    std::printf("{\"event\":\"progress\",\"us\":%lld,\"open\":%zu,\"up\":%s,\"down\":%s}\n",
                static_cast<long long>(NowUs()), open, up.Json().c_str(), down.Json().c_str());
    std::fflush(stdout);
  }

  void ReportEach() {
    std::string out = "{\"event\":\"end\",\"connections\":[";
    for (const auto& pair : pairs_) {
      pair->ReadSegments();
      if (out.back() == '}') out += ",";
      out += "{\"up\":" + pair->Up().Json() + ",\"down\":" + pair->Down().Json() + "}";
    }
    std::printf("%s]}\n", out.c_str());
  }

 private:
  void Accept() {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (client < 0) return;
    const int broker = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    // The first event reports success or failure.
    connect(broker, reinterpret_cast<const sockaddr*>(&broker_), sizeof broker_);
    pairs_.push_back(std::make_unique<Pair>(epoll_, client, broker));
  }

  const int epoll_;
  const sockaddr_in broker_;
  int listener_ = -1;
  std::vector<std::unique_ptr<Pair>> pairs_;
};

int Main(int argc, char** argv) {
  Options options({{"host", "127.0.0.1"},
                   {"port", "0"},
                   {"to-host", "127.0.0.1"},
                   {"to-port", "8883"},
                   {"mss", "1460"},
                   {"progress-ms", "100"}},
                  argc, argv);
  struct sigaction action {};
  action.sa_handler = [](int) { stopped = 1; };
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);

  const int64_t every_us = options.Integer("progress-ms", 10, 60000) * 1000;
  Relay relay(options);
  int64_t next_us = NowUs();
  while (!stopped) {
    relay.Step(static_cast<int>(std::clamp<int64_t>((next_us - NowUs()) / 1000 + 1, 0, 60000)));
    if (NowUs() < next_us) continue;
    relay.Report();
    next_us = NowUs() + every_us;
  }
  relay.ReportEach();
  return 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) { return bench::Main(argc, argv); }
