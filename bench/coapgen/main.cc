// CoAP over TCP or UDP, as in the IoTivity Cloud paper's test: devices, each with a connection of
// its own, post at random times (a Poisson process each), whatever the server answers: open loop.
// Or, with --mode closed, each keeps --window requests unanswered: what the server can do at most.
//
// Standard output: {"event":"start","us":…} when sending begins, the result as one JSON object at
// the end. Exit code 1 when the devices could not connect.

#include <arpa/inet.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmath>
#include <memory>
#include <queue>
#include <random>
#include <vector>

#include "../common/clock.h"
#include "../common/options.h"
#include "device.h"

namespace bench {
namespace {

volatile sig_atomic_t stopped = 0;

class Load {
 public:
  explicit Load(const Settings& settings, uint64_t seed)
      : settings_(settings), random_(seed), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    for (uint32_t i = 0; i < settings_.devices; ++i) {
      devices_.push_back(std::make_unique<Device>(i, settings_, totals_));
    }
  }

  bool ConnectAll() {
    for (auto& device : devices_) {
      if (!device->Connect(epoll_)) return false;
    }
    return true;
  }

  void Run() {
    const int64_t start_us = NowUs() + 200'000;
    totals_.end_us = start_us + std::llround(settings_.seconds * 1e6);
    std::printf("{\"event\":\"start\",\"us\":%lld}\n", static_cast<long long>(start_us));
    std::fflush(stdout);
    Wait(start_us - NowUs());
    const double cpu_seconds = CpuSeconds();
    for (uint32_t i = 0; i < settings_.devices; ++i) {
      if (!settings_.closed) {
        Schedule(i, start_us);
      } else if (!devices_[i]->Pump()) {
        ++totals_.lost_connections;
      }
    }
    while (!stopped && (!times_.empty() || NowUs() < totals_.end_us || !Settled())) {
      const int64_t now_us = NowUs();
      if (now_us > totals_.end_us + std::llround(settings_.drain_seconds * 1e6)) break;
      while (!times_.empty() && times_.top().first <= now_us) {
        const auto [at_us, number] = times_.top();
        times_.pop();
        devices_[number]->AddDue(at_us);
        if (!devices_[number]->Pump()) ++totals_.lost_connections;
        Schedule(number, at_us);
      }
      Wait(times_.empty() ? 5000 : std::clamp<int64_t>(times_.top().first - NowUs(), 0, 5000));
      SendAgain(now_us);
      if (cpu_seconds_ == 0 && NowUs() >= totals_.end_us) {
        end_answered_ = totals_.answered;
        cpu_seconds_ = CpuSeconds() - cpu_seconds;
      }
    }
    if (cpu_seconds_ > 0) return;
    end_answered_ = totals_.answered;
    cpu_seconds_ = CpuSeconds() - cpu_seconds;
  }

  std::string Json() const {
    uint64_t unsent = 0;
    for (const auto& device : devices_) unsent += device->unsent();
    const Totals& t = totals_;
    const auto field = [](const char* name, uint64_t value) {
      return "\"" + std::string(name) + "\":" + std::to_string(value) + ",";
    };
    const auto mean = [](uint64_t sum, uint64_t n) { return n == 0 ? 0 : (sum + n / 2) / n; };
    std::string out =
        "{" + field("devices", devices_.size()) + field("sent", t.sent) +
        field("answered", t.answered) + field("answeredInTime", end_answered_) +
        field("refused", t.refused) + field("unsent", unsent) + field("unknown", t.unknown) +
        field("sentAgain", t.sent_again) + field("connectionLosses", t.lost_connections) +
        field("requestBytes", mean(t.request_bytes, t.sent)) +
        field("responseBytes", mean(t.response_bytes, t.answered + t.refused)) +
        "\"seconds\":" + std::to_string(settings_.seconds) + ",\"answerUs\":" + t.answer_us.Json() +
        ",\"roundUs\":" + t.round_us.Json() + ",\"sendLagUs\":" + t.send_lag_us.Json() +
        ",\"cpuSeconds\":" + std::to_string(cpu_seconds_) + ",\"streams\":[";
    for (size_t i = 0; i < devices_.size(); ++i) {
      out += (i > 0 ? ",{\"device\":" : "{\"device\":") + std::to_string(settings_.first + i) +
             ",\"kind\":0,\"issued\":" + std::to_string(devices_[i]->issued()) + ",\"unacked\":[" +
             devices_[i]->Unanswered() + "]}";
    }
    return out + "]}";
  }

 private:
  // Knuth: the time to the next event is -ln(p) / λ.
  void Schedule(uint32_t number, int64_t after_us) {
    const double p = std::generate_canonical<double, 53>(random_);
    const double gap_us = -std::log(1 - p) * 1e6 * settings_.devices / settings_.rate;
    const int64_t at_us = after_us + std::llround(gap_us);
    if (at_us < totals_.end_us) times_.emplace(at_us, number);
  }

  void SendAgain(int64_t now_us) {
    if (now_us < again_us_) return;
    again_us_ = now_us + 500'000;
    for (const auto& device : devices_) device->OnTime(now_us);
  }

  bool Settled() const {
    for (const auto& device : devices_) {
      if (!device->settled()) return false;
    }
    return true;
  }

  void Wait(int64_t timeout_us) {
    epoll_event events[256];
    const timespec timeout{timeout_us / 1000000, timeout_us % 1000000 * 1000};
    const int n = epoll_pwait2(epoll_, events, 256, &timeout, nullptr);
    for (int i = 0; i < n; ++i) {
      const uint32_t number = events[i].data.u32;
      if (!devices_[number]->OnEvents(events[i].events)) {
        ++totals_.lost_connections;
        stopped = 1;  // none may be lost: the run is over
      }
    }
  }

  using Time = std::pair<int64_t, uint32_t>;
  const Settings settings_;
  std::mt19937_64 random_;
  const int epoll_;
  Totals totals_;
  int64_t again_us_ = 0;
  double cpu_seconds_ = 0;  // of sending
  uint64_t end_answered_ = 0;
  std::vector<std::unique_ptr<Device>> devices_;
  std::priority_queue<Time, std::vector<Time>, std::greater<>> times_;
};

int Main(int argc, char** argv) {
  Options options({{"host", "127.0.0.1"},
                   {"port", "5683"},
                   {"devices", "100"},
                   {"first", "0"},
                   {"rate", "15000"},
                   {"seconds", "30"},
                   {"drain", "20"},
                   {"request-bytes", "109"},
                   {"window", "64"},
                   {"transport", "tcp"},
                   {"mode", "open"},
                   {"method", "post"},
                   {"path", "d/{device}/t"},
                   {"seed", "1"},
                   {"out", ""}},
                  argc, argv);
  Settings settings;
  settings.server.sin_family = AF_INET;
  settings.server.sin_port = htons(static_cast<uint16_t>(options.Integer("port", 1, 65535)));
  if (inet_pton(AF_INET, options.Text("host").c_str(), &settings.server.sin_addr) != 1) {
    std::fprintf(stderr, "--host must be an IPv4 address\n");
    return 2;
  }
  settings.devices = static_cast<uint32_t>(options.Integer("devices", 1, 20000));
  settings.first = static_cast<uint32_t>(options.Integer("first", 0, 1e6));
  settings.rate = options.Number("rate", 1, 1e7);
  settings.seconds = options.Number("seconds", 0.1, 600);
  settings.drain_seconds = options.Number("drain", 0, 600);
  settings.request_bytes = static_cast<size_t>(options.Integer("request-bytes", 0, 60000));
  settings.window = static_cast<size_t>(options.Integer("window", 1, 60000));
  settings.udp = options.Choice("transport", {"tcp", "udp"}) == 1;
  settings.closed = options.Choice("mode", {"open", "closed"}) == 1;
  settings.method = options.Choice("method", {"post", "put"}) == 1 ? coap::kPut : coap::kPost;
  settings.path = options.Text("path");
  RaiseFileLimit(settings.devices + 64);
  struct sigaction action {};
  action.sa_handler = [](int) { stopped = 1; };
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);

  Load load(settings, static_cast<uint64_t>(options.Integer("seed", 0, 1e9)));
  if (!load.ConnectAll()) {
    std::perror("coapgen: not every device could connect");
    return 1;
  }
  load.Run();
  const std::string json = load.Json();
  if (options.Text("out").empty()) {
    std::puts(json.c_str());
    return 0;
  }
  std::FILE* file = std::fopen(options.Text("out").c_str(), "w");
  if (file == nullptr || std::fwrite(json.data(), 1, json.size(), file) != json.size() ||
      std::fclose(file) != 0) {
    std::perror("coapgen: --out");
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) { return bench::Main(argc, argv); }
