// Open-loop load: many devices, each with its own connection, a fixed rate and phase, QoS 1. See
// device.h.
//
// Standard output, one JSON object a line: {"event":"connected"}, {"event":"start","us":…} when
// sending begins, with --progress-ms {"event":"progress","us":…,"sent":…,"acked":…} so often, the
// result at the end. Exit code 1 when the devices could not connect in
// --connect-seconds.

#include <arpa/inet.h>
#include <signal.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "../common/clock.h"
#include "../common/options.h"
#include "device.h"

namespace bench {
namespace {

volatile sig_atomic_t stopped = 0;

class Load {
 public:
  Load(const LoadOptions& options, double connect_seconds, int64_t progress_us)
      : options_(options),
        connect_seconds_(connect_seconds),
        progress_us_(progress_us),
        epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    for (uint32_t i = 0; i < options_.devices; ++i) {
      devices_.push_back(std::make_unique<Device>(i, options_, counters_));
      retries_.emplace(0, i);
    }
  }

  bool ConnectAll() {
    const int64_t deadline_us = NowUs() + static_cast<int64_t>(connect_seconds_ * 1e6);
    while (up_ < devices_.size()) {
      if (stopped || NowUs() > deadline_us) return false;
      StartConnections();
      Wait(5000);
    }
    return true;
  }

  void Send() {
    const int64_t start_us = NowUs() + options_.lead_us;
    for (auto& device : devices_) device->SetStart(start_us);
    std::printf("{\"event\":\"start\",\"us\":%lld}\n", static_cast<long long>(start_us));
    std::fflush(stdout);
    const double gap_us = 1e6 / (options_.rate * options_.devices);
    const uint64_t slots =
        static_cast<uint64_t>(std::llround(options_.seconds * options_.rate * options_.devices));
    uint64_t slot = 0;
    auto slot_us = [&] { return start_us + std::llround(static_cast<double>(slot) * gap_us); };
    while (slot < slots && !stopped) {
      StartConnections();
      while (slot < slots && slot_us() <= NowUs()) {
        uint32_t number = static_cast<uint32_t>(slot++ % devices_.size());
        devices_[number]->AddDue();
        if (!devices_[number]->Pump()) Lost(number);
      }
      Report();
      Wait(std::clamp<int64_t>(slot_us() - NowUs(), 0, 10000));
    }
    Drain();
  }

  std::string Json(bool streams) const {
    uint64_t unsent = 0;
    for (const auto& device : devices_) unsent += device->unsent();
    const LoadCounters& c = counters_;
    auto field = [](const char* name, uint64_t value) {
      return "\"" + std::string(name) + "\":" + std::to_string(value) + ",";
    };
    std::string out =
        "{" + field("devices", devices_.size()) + field("sent", c.sent) + field("acked", c.acked) +
        field("unacked", c.sent - c.acked) + field("unsent", unsent) + field("late", c.late) +
        field("resent", c.resent) + field("connectionLosses", c.connection_losses) +
        field("acksOutOfOrder", c.acks_out_of_order) + field("acksUnknown", c.acks_unknown) +
        field("protocolErrors", c.protocol_errors) + "\"ackUs\":" + c.ack_us.Json() +
        ",\"pubackUs\":{\"normal\":" + c.puback_us[kNormal].Json() +
        ",\"alarm\":" + c.puback_us[kAlarm].Json() + "}" +
        ",\"sendLagUs\":" + c.send_lag_us.Json() +
        ",\"cpuSeconds\":" + std::to_string(CpuSeconds());
    if (streams) {
      out += ",\"streams\":[";
      for (size_t i = 0; i < devices_.size(); ++i) {
        if (i > 0) out += ",";
        out += devices_[i]->StreamsJson();
      }
      out += "]";
    }
    return out + "}";
  }

  void Finish() {
    for (auto& device : devices_) device->Finish();
  }

 private:
  // After a loss a device waits 100 ms, spread by its number, as a fleet with jitter would.
  void Lost(uint32_t number) {
    if (was_up_[number]) {
      was_up_[number] = false;
      --up_;
      ++counters_.connection_losses;
    } else {
      --pending_;
    }
    retries_.emplace(NowUs() + 100000 + number % 100 * 1000, number);
  }

  void StartConnections() {
    constexpr size_t kPending = 128;  // below any listener's backlog
    while (!retries_.empty() && pending_ < kPending && retries_.begin()->first <= NowUs()) {
      uint32_t number = retries_.begin()->second;
      retries_.erase(retries_.begin());
      if (devices_[number]->Connect(epoll_)) {
        ++pending_;
      } else {
        retries_.emplace(NowUs() + 100000, number);
      }
    }
  }

  void Wait(int64_t timeout_us) {
    epoll_event events[256];
    timespec timeout{timeout_us / 1000000, timeout_us % 1000000 * 1000};
    int n = epoll_pwait2(epoll_, events, 256, &timeout, nullptr);
    for (int i = 0; i < n; ++i) {
      uint32_t number = events[i].data.u32;
      if (!devices_[number]->OnEvents(events[i].events)) {
        Lost(number);
      } else if (!was_up_[number] && devices_[number]->up()) {
        was_up_[number] = true;
        ++up_;
        --pending_;
      }
    }
  }

  void Drain() {
    const int64_t deadline_us = NowUs() + static_cast<int64_t>(options_.drain_seconds * 1e6);
    auto settled = [](const auto& device) { return device->settled(); };
    while (!stopped && NowUs() < deadline_us &&
           !std::all_of(devices_.begin(), devices_.end(), settled)) {
      StartConnections();
      Report();
      Wait(5000);
    }
  }

  void Report() {
    const int64_t now_us = NowUs();
    if (progress_us_ == 0 || now_us < next_progress_us_) return;
    next_progress_us_ = now_us + progress_us_;
    std::printf("{\"event\":\"progress\",\"us\":%lld,\"sent\":%llu,\"acked\":%llu}\n",
                static_cast<long long>(now_us), static_cast<unsigned long long>(counters_.sent),
                static_cast<unsigned long long>(counters_.acked));
    std::fflush(stdout);
  }

  const LoadOptions options_;
  const double connect_seconds_;
  const int64_t progress_us_;  // 0 = no reports
  int64_t next_progress_us_ = 0;
  const int epoll_;
  LoadCounters counters_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::multimap<int64_t, uint32_t> retries_;  // when → device
  std::vector<bool> was_up_ = std::vector<bool>(options_.devices, false);
  size_t up_ = 0;
  size_t pending_ = 0;
};

LoadOptions Read(const Options& o) {
  LoadOptions load;
  load.gateway.sin_family = AF_INET;
  load.gateway.sin_port = htons(static_cast<uint16_t>(o.Integer("port", 1, 65535)));
  if (inet_pton(AF_INET, o.Text("host").c_str(), &load.gateway.sin_addr) != 1) {
    std::fprintf(stderr, "--host must be an IPv4 address\n");
    std::exit(2);
  }
  load.devices = static_cast<uint32_t>(o.Integer("devices", 1, 50000));
  load.first_device = static_cast<uint32_t>(o.Integer("first-device", 0, 50000));
  // Every device must send more often than its keep-alive, because it never pings.
  load.rate = o.Number("rate", 0.05, 100000);
  load.seconds = o.Number("seconds", 0.1, 3600);
  load.drain_seconds = o.Number("drain", 0, 600);
  load.payload_bytes = static_cast<size_t>(o.Integer("payload", 0, 1 << 20));
  load.alarm_every = static_cast<uint32_t>(o.Integer("alarm-every", 0, 1000000));
  load.topic_kind = o.Text("topic-kind");
  if (load.topic_kind.empty() || load.topic_kind.find_first_of("/+#") != std::string::npos) {
    std::fprintf(stderr, "--topic-kind must be one level of a topic, without / + #\n");
    std::exit(2);
  }
  load.lead_us = o.Integer("lead-ms", 0, 60000) * 1000;
  load.clean = o.Integer("clean", 0, 1) == 1;
  load.inflight = static_cast<size_t>(o.Integer("inflight", 1, 60000));
  load.late_us = o.Integer("late-ms", 0, 60000) * 1000;
  load.skip_us = o.Integer("skip-ms", 0, 3600000) * 1000;
  return load;
}

int Main(int argc, char** argv) {
  Options options({{"host", "127.0.0.1"},
                   {"port", "1883"},
                   {"devices", "1000"},
                   {"first-device", "0"},
                   {"rate", "10"},
                   {"seconds", "20"},
                   {"drain", "30"},
                   {"payload", "200"},
                   {"alarm-every", "20"},
                   {"topic-kind", "t"},
                   {"inflight", "64"},
                   {"clean", "1"},
                   {"lead-ms", "300"},
                   {"progress-ms", "0"},
                   {"late-ms", "10"},
                   {"skip-ms", "0"},
                   {"connect-seconds", "30"},
                   {"out", ""}},
                  argc, argv);
  LoadOptions load_options = Read(options);
  if (!RaiseFileLimit(load_options.devices + 64)) {
    std::fprintf(stderr, "loadgen: %u devices need more open files: raise `ulimit -Hn`\n",
                 load_options.devices);
    return 1;
  }
  struct sigaction action {};
  action.sa_handler = [](int) { stopped = 1; };
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);

  Load load(load_options, options.Number("connect-seconds", 1, 600),
            options.Integer("progress-ms", 0, 60000) * 1000);
  if (!load.ConnectAll()) {
    std::fprintf(stderr, "loadgen: not every device could connect\n%s\n", load.Json(false).c_str());
    return 1;
  }
  std::puts("{\"event\":\"connected\"}");
  load.Send();
  std::string json = load.Json(!options.Text("out").empty());
  load.Finish();
  if (!options.Text("out").empty()) {
    std::FILE* file = std::fopen(options.Text("out").c_str(), "w");
    if (file == nullptr || std::fwrite(json.data(), 1, json.size(), file) != json.size() ||
        std::fclose(file) != 0) {
      std::perror("loadgen: --out");
      return 1;
    }
  }
  std::puts(load.Json(false).c_str());
  return 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) { return bench::Main(argc, argv); }
