// CoAP devices that post over TCP, as in the IoTivity Cloud paper's test, or over UDP. Open loop
// (--mode open): they send at times that do not depend on the answers, each device as a Poisson
// process or evenly spread. Closed loop: each device keeps --window requests open, which finds the
// server's maximum. --mode burst: all --burst requests are due at the start. --mode hold: no
// requests, only answers to Pings and to the requests of others, for --seconds.
//
// A device has a connection of its own, or --connections are shared. With --hellos FILE each
// connection sends messages of this list (common/list.h) before the load, such as a sign-in, and
// waits for a 2.xx answer to each: --hello-steps messages for each connection. --answers FILE gets
// options and payload of these answers, in the order of the messages. If the last of a connection's
// hellos observe topics of other devices, their notifications are counted (notices.h), but not
// those of the devices from --notices-below on. --path oic/route/{to}/x with --targets FILE sends
// each device's requests to one target of that list.
//
// Standard output: {"event":"ready","us":…} when all connections are open and their hellos
// answered, {"event":"start","us":…} when sending begins, {"event":"notices","us":…,"count":…}
// fifty times a second while notifications arrive, the result as one JSON object at the end. Exit
// code 1 if the devices could not connect, or a hello had another answer than 2.xx.

#include <signal.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "../common/clock.h"
#include "../common/list.h"
#include "connection.h"
#include "device.h"
#include "notices.h"
#include "settings.h"

namespace bench {
namespace {

volatile sig_atomic_t stopped = 0;

class CoapLoad {
 public:
  explicit CoapLoad(const Settings& settings)
      : settings_(settings),
        rate_(settings_.load),
        schedule_(rate_, settings_.load),
        epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    const CoapFleet fleet{settings_, rate_, totals_};
    for (uint32_t i = 0; i < settings_.connections; ++i) {
      connections_.push_back(std::make_unique<Connection>(i, fleet));
    }
    for (uint32_t i = 0; i < settings_.load.devices; ++i) {
      Connection* const connection = connections_[i % settings_.connections].get();
      devices_.push_back(std::make_unique<CoapDevice>(i, connection, fleet));
    }
  }

  // Opens all connections, and waits until their hellos are answered. Returns '' or what is wrong.
  std::string Open() {
    const int64_t began_us = NowUs();
    const int64_t last_us = began_us + std::llround(settings_.hello_seconds * 1e6);
    const size_t count = connections_.size();
    const size_t at_once = settings_.hellos_at_once == 0 ? count : settings_.hellos_at_once;
    size_t opened = 0;
    while (!stopped) {
      for (; opened < count && opened - ready_ < at_once; ++opened) {
        if (!connections_[opened]->Open(epoll_)) return std::strerror(errno);
        if (connections_[opened]->ready()) ++ready_;
        // Answers are taken meanwhile, so that their times are right.
        if (!settings_.hellos.empty()) Wait(0);
      }
      if (ready_ == count) break;
      Wait(100000);
      if (NowUs() > last_us) {
        return std::to_string(count - ready_) + " connections had no answer to a hello in time";
      }
    }
    hellos_us_ = NowUs() - began_us;
    if (ready_ < count) return Refusal();
    std::printf("{\"event\":\"ready\",\"us\":%lld}\n", static_cast<long long>(NowUs()));
    std::fflush(stdout);
    return WriteAnswers();
  }

  void Run() {
    const int64_t start_us = NowUs() + 200'000;
    start_us_ = start_us;
    end_us_ = start_us + std::llround(settings_.load.seconds() * 1e6);
    const int64_t last_us = end_us_ + std::llround(settings_.drain_seconds * 1e6);
    for (auto& device : devices_) device->SetTimes(start_us, end_us_);
    std::printf("{\"event\":\"start\",\"us\":%lld}\n", static_cast<long long>(start_us));
    std::fflush(stdout);
    while (!stopped && NowUs() < start_us) Wait(std::max<int64_t>(start_us - NowUs(), 0));
    const double cpu_before = CpuSeconds();
    if (settings_.mode == Mode::kBurst) AddBurst();
    if (settings_.mode != Mode::kOpen) PumpAll();
    for (int64_t now_us = NowUs(); !stopped && now_us < last_us; now_us = NowUs()) {
      if ((now_us >= end_us_ || settings_.mode == Mode::kBurst) && Settled()) break;
      SendDue(now_us - start_us);
      Retransmit(now_us);
      const int64_t next_us = schedule_.next_us();
      const int64_t wait_us = next_us == kNever ? 5000 : start_us + next_us - NowUs();
      Wait(std::clamp<int64_t>(wait_us, 0, 5000));
      TellNotices(now_us);
      if (end_answered_ == 0 && NowUs() >= end_us_) {
        end_answered_ = totals_.answered;
        cpu_seconds_ = CpuSeconds() - cpu_before;
      }
    }
    if (end_answered_ == 0) end_answered_ = totals_.answered;
  }

  std::string Json() const {
    uint64_t unsent = 0;
    for (const auto& device : devices_) unsent += device->unsent();
    const Totals& t = totals_;
    const auto field = [](const char* name, auto value) {
      return "\"" + std::string(name) + "\":" + std::to_string(value) + ",";
    };
    const auto mean = [](uint64_t sum, uint64_t n) { return n == 0 ? 0 : (sum + n / 2) / n; };
    const uint64_t refused = t.client_errors + t.unavailable + t.server_errors;
    const double seconds = settings_.load.seconds();
    Reached reached;
    for (const auto& connection : connections_) reached.Add(connection->observations());
    std::string out =
        "{" + field("devices", devices_.size()) + field("sent", t.sent) +
        field("answered", t.answered) + field("answeredInTime", end_answered_) +
        field("perSecond", static_cast<double>(end_answered_) / seconds) +
        field("refused", refused) + field("clientErrors", t.client_errors) +
        field("unavailable", t.unavailable) + field("serverErrors", t.server_errors) +
        field("timedOut", t.timed_out) + field("retransmitted", t.retransmitted) +
        field("resets", t.resets) + field("unsent", unsent) + field("late", t.late) +
        field("unknown", t.unknown) + field("connectionLosses", t.lost_connections) +
        field("requestBytes", mean(t.request_bytes, t.sent)) +
        field("responseBytes", mean(t.response_bytes, t.answered + refused)) +
        field("offered", rate_.messages() / seconds) + field("seconds", seconds) +
        field("connections", connections_.size()) + field("lastSentUs", Since(t.last_sent_us)) +
        field("lastAnsweredUs", Since(t.last_answered_us)) + field("pongs", t.pongs) +
        field("requestsAnswered", t.requests_answered) + field("notices", t.notices.received) +
        field("skipped", t.notices.skipped) + field("backward", t.notices.backward) +
        field("unreadable", t.notices.unreadable) + field("failedNotices", t.notices.failed) +
        "\"noticeUs\":" + t.notices.latency_us.Json(true) + ",\"reached\":" + reached.Json() + "," +
        field("hellosUs", hellos_us_) + "\"helloUs\":" + t.hello_us.Json() + "," +
        "\"answerUs\":" + t.answer_us.Json() + ",\"roundUs\":" + t.round_us.Json() +
        ",\"sendLagUs\":" + t.send_lag_us.Json() + "," + field("cpuSeconds", cpu_seconds_) +
        field("wholeCpuSeconds", CpuSeconds()) + "\"streams\":[";
    for (size_t i = 0; i < devices_.size(); ++i) {
      if (i > 0) out += ",";
      out += devices_[i]->StreamJson();
    }
    return out + "]}";
  }

 private:
  // Returns µs after the start of the load, 0 if it was never.
  int64_t Since(int64_t at_us) const { return at_us == 0 ? 0 : at_us - start_us_; }

  // Ends the run if a connection is lost.
  void Check(bool good) {
    if (good) return;
    ++totals_.lost_connections;
    stopped = 1;
  }

  // Returns why the hellos ended early.
  std::string Refusal() const {
    for (const auto& connection : connections_) {
      if (const uint8_t code = connection->refused(); code != 0) {
        char text[48];
        std::snprintf(text, sizeof text, "the answer to a hello was %d.%02d", code >> 5, code & 31);
        return text;
      }
    }
    return "a connection was lost before the load";
  }

  // Returns '' or what is wrong.
  std::string WriteAnswers() const {
    if (settings_.answers.empty()) return {};
    std::vector<std::string> all;
    for (const auto& connection : connections_) {
      const auto& own = connection->answers();
      all.insert(all.end(), own.begin(), own.end());
    }
    return WriteList(settings_.answers, all) ? "" : "--answers cannot be written";
  }

  void TellNotices(int64_t now_us) {
    const uint64_t count = totals_.notices.received;
    if (count == told_notices_ || now_us < next_notices_us_) return;
    told_notices_ = count;
    next_notices_us_ = now_us + 20'000;
    std::printf("{\"event\":\"notices\",\"us\":%lld,\"count\":%llu}\n",
                static_cast<long long>(now_us), static_cast<unsigned long long>(count));
    std::fflush(stdout);
  }

  void AddBurst() {
    const uint64_t count = devices_.size();
    for (uint64_t i = 0; i < count; ++i) {
      devices_[i]->AddDue(settings_.burst * (i + 1) / count - settings_.burst * i / count);
    }
  }

  void PumpAll() {
    for (auto& device : devices_) device->Pump();
    for (auto& connection : connections_) Check(connection->Flush());
  }

  void SendDue(int64_t at_us) {
    while (schedule_.next_us() <= at_us) {
      const uint32_t number = schedule_.Take();
      if (devices_[number]->AddDue()) due_.push_back(number);
    }
    for (uint32_t number : due_) devices_[number]->Pump();
    for (uint32_t number : due_) Check(devices_[number]->connection().Flush());
    due_.clear();
  }

  void Retransmit(int64_t now_us) {
    if (!settings_.udp || now_us < next_check_us_) return;
    next_check_us_ = now_us + 50000;
    for (auto& device : devices_) device->Retransmit(now_us);
  }

  bool Settled() const {
    return std::all_of(devices_.begin(), devices_.end(),
                       [](const auto& device) { return device->settled(); });
  }

  void Wait(int64_t timeout_us) {
    constexpr int kEvents = 1024;
    epoll_event events[kEvents];
    const timespec timeout{timeout_us / 1000000, timeout_us % 1000000 * 1000};
    const int n = epoll_pwait2(epoll_, events, kEvents, &timeout, nullptr);
    for (int i = 0; i < n; ++i) {
      Connection& connection = *connections_[events[i].data.u32];
      const bool was_ready = connection.ready();
      Check(connection.OnEvents(events[i].events));
      if (!was_ready && connection.ready()) ++ready_;
    }
  }

  const Settings settings_;
  const Rate rate_;
  Schedule schedule_;
  const int epoll_;
  Totals totals_;
  size_t ready_ = 0;  // connections
  int64_t hellos_us_ = 0;
  int64_t start_us_ = 0;
  int64_t end_us_ = 0;
  int64_t next_check_us_ = 0;
  int64_t next_notices_us_ = 0;
  uint64_t told_notices_ = 0;
  uint64_t end_answered_ = 0;
  double cpu_seconds_ = 0;     // until the end of sending
  std::vector<uint32_t> due_;  // devices with newly due requests
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<std::unique_ptr<CoapDevice>> devices_;
};

int Main(int argc, char** argv) {
  const Settings settings = ReadSettings(argc, argv);
  if (!RaiseFileLimit(settings.connections + 64)) {
    std::fprintf(stderr, "coapgen: %u connections need more open files: raise `ulimit -Hn`\n",
                 settings.connections);
    return 1;
  }
  struct sigaction action {};
  action.sa_handler = [](int) { stopped = 1; };
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);

  CoapLoad load(settings);
  if (const std::string why = load.Open(); !why.empty()) {
    std::fprintf(stderr, "coapgen: not every device could connect: %s\n", why.c_str());
    return 1;
  }
  load.Run();
  const std::string json = load.Json();
  if (settings.out.empty()) {
    std::puts(json.c_str());
    return 0;
  }
  std::FILE* file = std::fopen(settings.out.c_str(), "w");
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
