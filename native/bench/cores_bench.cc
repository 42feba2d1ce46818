// Measures a whole engine under the load of the same process: devices and the broker's end of the
// uplink are socket pairs, so no other program and no network takes part. Prints one line of JSON:
// records, and CPU time and context switches of each thread in the measured time.
// bench/questions/cores.js runs it.
//
//   cores_bench WORKERS CORES DEVICES SECONDS [FILE]
//
// WORKERS are pinned to CORES, a list such as 1-3,5; no other thread is pinned. Each device sends
// 200 B of JSON at QoS 1 as fast as its PUBACKs allow; every 20th message is an alarm (class 1).
// FILE: the log, an SQLite database that must not exist. With it, a PUBACK leaves when its record
// is on disk; without it, when the broker has acknowledged it.
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/cores/broker_end.h"
#include "bench/cores/device_load.h"
#include "bench/cores/disk_log.h"
#include "bench/cores/thread_usage.h"
#include "bench/cores/uplink_session.h"
#include "core/base/clock.h"
#include "core/reception/listener.h"
#include "core/runtime/engine.h"

namespace {

using namespace seganet;

constexpr uint32_t kSource = 1, kPriority = 2, kBatch = 3, kUplink = 4;
constexpr auto kWarmUp = std::chrono::seconds(1);
constexpr int64_t kMostWaitUs = 20'000'000;

struct Settings {
  int workers = 0;
  std::string cores;
  size_t devices = 0;
  double seconds = 0;
  std::string log;
};

class NoBell : public Doorbell {
  void Call() override {}
};

std::vector<StageSpec> PlanSpecs() {
  std::vector<StageSpec> plan(4);
  plan[0].id = kSource;
  plan[0].next = {kPriority};
  plan[1].id = kPriority;
  plan[1].kind = StageKind::kPriority;
  plan[1].rules = {{"d/+/alarm", "", 1}, {"d/+/high", "", 2}, {"d/+/bulk", "", 4}};
  plan[1].default_class = 3;
  plan[1].next = {kBatch};
  plan[2].id = kBatch;
  plan[2].kind = StageKind::kBatch;
  plan[2].batcher.flush = BatchFlush::kAdaptive;
  plan[2].batcher.max_bytes = kMaxAdaptiveBytes;
  plan[2].next = {kUplink};
  plan[3].id = kUplink;
  plan[3].kind = StageKind::kUplink;
  plan[3].name = "uplink";
  return plan;
}

// Returns how far CLOCK_REALTIME is ahead of CLOCK_MONOTONIC: traces of other tools have its times.
double RealtimeAheadSeconds() {
  timespec real{}, monotonic{};
  clock_gettime(CLOCK_REALTIME, &real);
  clock_gettime(CLOCK_MONOTONIC, &monotonic);
  return static_cast<double>(real.tv_sec - monotonic.tv_sec) +
         static_cast<double>(real.tv_nsec - monotonic.tv_nsec) / 1e9;
}

// Waits until `is_done` returns true, at most kMostWaitUs.
template <typename Condition>
bool Until(const Condition& is_done) {
  for (const int64_t end = MonotonicUs() + kMostWaitUs; MonotonicUs() < end;) {
    if (is_done()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

// The parts of a run, in the order in which they start.
struct Run {
  NoBell bell;
  Engine engine{&bell};
  std::unique_ptr<bench::BrokerEnd> broker;
  std::unique_ptr<bench::UplinkSession> session;
  std::unique_ptr<bench::DiskLog> log;
  std::vector<std::unique_ptr<bench::DeviceLoad>> loads;

  uint64_t acknowledged() const {
    uint64_t sum = 0;
    for (const auto& load : loads) sum += load->acknowledged();
    return sum;
  }
  // Returns what went wrong; empty = nothing.
  std::string failure() const {
    for (const auto& load : loads) {
      if (load->has_failed()) return "a device lost its connection, or a PUBACK is missing";
    }
    if (session->has_failed()) return "the uplink's session ended or left the express path";
    if (log != nullptr && log->has_failed()) return "the log could not be written or was read";
    return "";
  }
};

// Returns an error; empty = the engine runs, and all devices are connected.
std::string Begin(const Settings& settings, Run* run) {
  EngineOptions options;
  options.workers = settings.workers;
  options.cpus = settings.cores;
  options.max_devices = static_cast<uint32_t>(settings.devices);
  options.log = !settings.log.empty();
  options.acknowledge = options.log ? Acknowledge::kStored : Acknowledge::kSafe;
  ListenSpec listening;
  listening.transport = Transport::kStreams;
  uint16_t port = 0;
  Status status = run->engine.Start(options);
  if (status.ok()) status = run->engine.ApplyPlan(PlanSpecs());
  if (status.ok()) status = run->engine.Listen(kSource, listening, &port);
  if (!status.ok()) return status.message();
  for (const WorkerInfo& worker : run->engine.Workers()) {
    if (worker.cpu < 0) return "a worker is not pinned: " + worker.reason;
  }
  int pair[2];
  if (!StreamPair(pair)) return "there is no socket pair for the broker";
  run->broker = std::make_unique<bench::BrokerEnd>(pair[1]);
  run->session = std::make_unique<bench::UplinkSession>(run->engine.LanesOf(0), kUplink,
                                                        bench::BrokerEnd::kBatches, pair[0]);
  if (options.log) {
    run->log = std::make_unique<bench::DiskLog>(&run->engine.store(), settings.log);
    if (!run->log->error().empty()) return "the log cannot be opened: " + run->log->error();
  }
  // As many threads of devices as workers, so that the load grows with them.
  std::vector<std::vector<bench::LoadDevice>> devices(static_cast<size_t>(settings.workers));
  for (size_t i = 0; i < settings.devices; ++i) {
    int fd = -1;
    status = run->engine.OpenStream(kSource, {"load", "", ""}, &fd);
    if (!status.ok()) return status.message();
    bench::LoadDevice device(fd, i);
    if (!device.Connect()) return "device " + std::to_string(i) + " could not connect";
    devices[i % devices.size()].push_back(std::move(device));
  }
  for (auto& part : devices) {
    run->loads.push_back(std::make_unique<bench::DeviceLoad>(std::move(part)));
  }
  return "";
}

struct Totals {
  int64_t at_us = 0;
  uint64_t records = 0, publishes = 0, bytes = 0, commits = 0;
  std::map<int, bench::ThreadUsage> threads;
};

Totals Read(const Run& run) {
  return {MonotonicUs(),
          run.acknowledged(),
          run.broker->publishes(),
          run.broker->bytes(),
          run.log ? run.log->commits() : 0,
          bench::ReadThreads()};
}

void Print(const Totals& from, const Totals& to, uint64_t lost, uint64_t slow_turns) {
  const double from_s = static_cast<double>(from.at_us) / 1e6;
  const double to_s = static_cast<double>(to.at_us) / 1e6;
  std::printf("{\"fromS\":%.6f,\"toS\":%.6f,\"realtimeAheadS\":%.6f,\"seconds\":%.6f,", from_s,
              to_s, RealtimeAheadSeconds(), to_s - from_s);
  std::printf("\"records\":%" PRIu64 ",\"publishes\":%" PRIu64 ",\"uplinkBytes\":%" PRIu64
              ",\"commits\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"slowTurns\":%" PRIu64
              ",\"threads\":[",
              to.records - from.records, to.publishes - from.publishes, to.bytes - from.bytes,
              to.commits - from.commits, lost, slow_turns);
  const char* comma = "";
  for (const auto& [tid, usage] : bench::UsageSince(from.threads, to.threads)) {
    std::printf(
        "%s{\"tid\":%d,\"name\":\"%s\",\"cpuUs\":%.1f,\"waitedUs\":%.1f,"
        "\"voluntary\":%" PRIu64 ",\"involuntary\":%" PRIu64 "}",
        comma, tid, usage.name.c_str(), usage.cpu_us, usage.waited_us, usage.voluntary,
        usage.involuntary);
    comma = ",";
  }
  std::printf("]}\n");
}

int Fail(const std::string& why) {
  std::fprintf(stderr, "cores_bench: %s\n", why.c_str());
  return 1;
}

int Measure(const Settings& settings, Run* run) {
  if (const std::string why = Begin(settings, run); !why.empty()) return Fail(why);
  std::this_thread::sleep_for(kWarmUp);
  const Totals from = Read(*run);
  std::this_thread::sleep_for(std::chrono::duration<double>(settings.seconds));
  const Totals to = Read(*run);
  const uint64_t slow_turns = run->session->slow_turns();
  for (const auto& load : run->loads) load->Stop();
  const bool is_over = Until([&] {
    for (const auto& load : run->loads) {
      if (!load->has_ended()) return false;
    }
    return true;
  });
  if (const std::string why = run->failure(); !why.empty()) return Fail(why);
  if (!is_over) return Fail("not all PUBACKs arrived within 20 s");
  const uint64_t acknowledged = run->acknowledged();
  Until([&] { return run->broker->records() >= acknowledged; });
  Print(from, to, acknowledged - std::min(acknowledged, run->broker->records()), slow_turns);
  return 0;
}

bool ReadSettings(int argc, char** argv, Settings* settings) {
  if (argc < 5 || argc > 6) return false;
  settings->workers = std::atoi(argv[1]);
  settings->cores = argv[2];
  settings->devices = static_cast<size_t>(std::max(0, std::atoi(argv[3])));
  settings->seconds = std::atof(argv[4]);
  if (argc == 6) settings->log = argv[5];
  return settings->workers >= 1 && settings->workers <= 64 &&
         settings->devices >= static_cast<size_t>(settings->workers) &&
         settings->devices <= 10'000 && settings->seconds >= 0.1 && settings->seconds <= 600;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  if (!ReadSettings(argc, argv, &settings)) {
    std::fprintf(stderr,
                 "usage: cores_bench WORKERS CORES DEVICES SECONDS [FILE]\n"
                 "1 to 64 workers, at least as many devices, at most 10000, and 0.1 to 600 s\n");
    return 2;
  }
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  Run run;
  const int result = Measure(settings, &run);
  run.loads.clear();
  run.session.reset();
  run.log.reset();
  run.engine.Close();
  return result;
}
