// Measures what more workers bring when the network and other processes are left out: devices, the
// engine and the cloud are in this process. Each worker has a generator thread on its own core that
// writes the messages of its devices into socket pairs, as the TLS thread does, and one thread
// takes and acknowledges every batch, as an uplink does. Cores share nothing but the structures of
// the engine: lanes, budget, receipts, demand.
//
//   scaling_bench WORKERS SECONDS [DEVICES_PER_WORKER [MESSAGES_PER_WRITE]]
//
// Prints one JSON object: messages per second, the CPU time of the workers per message, and their
// context switches per message, voluntary (wake-ups, waits for a lock) and not (another thread took
// the core). The machine should have a core for each worker and one for the cloud's thread. With
// fewer cores, only the CPU time per message has a meaning.
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/cloud.h"
#include "core/base/clock.h"
#include "core/base/cpu.h"
#include "core/placement/placement.h"
#include "core/runtime/engine.h"
#include "test/support/device_client.h"
#include "test/support/plan_support.h"

namespace {

using namespace seganet;
using test::DeviceClient;

constexpr uint32_t kSource = 1, kPriority = 2, kBatch = 3, kUplink = 4;
constexpr size_t kPayloadBytes = 200;
constexpr size_t kWindow = 64;  // unacknowledged messages per device

struct Sender {
  explicit Sender(int socket, std::string name)
      : client(DeviceClient::FromFd{socket}), fd(socket), id(std::move(name)) {}
  DeviceClient client;
  int fd;
  std::string id;
  uint64_t sent = 0;
  uint64_t acknowledged = 0;
};

std::string Publishes(Sender* device, size_t count) {
  std::string all;
  const std::string payload = "{\"t\":\"" + std::string(kPayloadBytes - 8, 'x') + "\"}";
  for (size_t i = 0; i < count; ++i) {
    all += mqtt_test::Publish1("d/" + device->id + "/t",
                               static_cast<unsigned>(++device->sent % 65535 + 1), payload);
  }
  return all;
}

void TakeAnswers(Sender* device) {
  char answers[4096];
  const ssize_t n = recv(device->fd, answers, sizeof answers, MSG_DONTWAIT);
  if (n > 0) device->acknowledged += static_cast<uint64_t>(n) / 4;
}

// Sends for all devices of one worker, each as soon as its window has room.
void Generate(std::vector<Sender>* devices, int cpu, size_t a_write,
              const std::atomic<bool>* stop) {
  PinThisThread(cpu);
  while (!*stop) {
    bool has_sent = false;
    for (Sender& device : *devices) {
      TakeAnswers(&device);
      if (device.sent - device.acknowledged + a_write > kWindow) continue;
      if (!device.client.Send(Publishes(&device, a_write))) return;
      has_sent = true;
    }
    if (!has_sent) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

struct Use {
  double cpu_us = 0;
  double voluntary = 0;
  double involuntary = 0;
};

Use UseOf(int tid) {
  // The CPU clock of another thread (man 2 clock_getres).
  const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(tid) << 3) | 6);
  timespec time{};
  clock_gettime(clock, &time);
  Use use;
  use.cpu_us = static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
  std::ifstream status("/proc/self/task/" + std::to_string(tid) + "/status");
  for (std::string line; std::getline(status, line);) {
    const auto value = [&line] { return std::stod(line.substr(line.find(':') + 1)); };
    if (line.starts_with("voluntary")) use.voluntary = value();
    if (line.starts_with("nonvoluntary")) use.involuntary = value();
  }
  return use;
}

std::vector<StageSpec> PlanSpecs() {
  std::vector<StageSpec> plan{test::Spec(kSource, StageKind::kSource, {kPriority}),
                              test::Spec(kPriority, StageKind::kPriority, {kBatch}),
                              test::BatchStage(kBatch, {kUplink}), test::UplinkStage(kUplink)};
  plan[1].rules = {{"d/+/alarm", "", 1}, {"d/+/high", "", 2}, {"d/+/bulk", "", 4}};
  plan[1].default_class = 3;
  plan[2].batcher.flush = BatchFlush::kAdaptive;
  plan[2].batcher.max_bytes = kMaxAdaptiveBytes;
  return plan;
}

class NoBell : public Doorbell {
  void Call() override {}
};

// Connects devices until each worker has `each`.
bool ConnectAll(Engine* engine, size_t each, std::vector<std::vector<Sender>>* by_worker) {
  const size_t workers = by_worker->size();
  size_t missing = workers * each;
  for (size_t number = 0; missing > 0; ++number) {
    const std::string id = "dev-" + std::to_string(number);
    std::vector<Sender>& own = (*by_worker)[Placement::SlotOf(id) * workers / Placement::kSlots];
    if (own.size() == each) continue;
    int fd = -1;
    if (!engine->OpenStream(kSource, {"inside", {}, {}}, &fd).ok()) return false;
    own.emplace_back(fd, id);
    if (!own.back().client.Connect(id)) return false;
    --missing;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int at, double fallback) {
    return argc > at ? std::atof(argv[at]) : fallback;
  };
  const auto count = static_cast<size_t>(number(1, 0));
  const double seconds = number(2, 0);
  const auto each = static_cast<size_t>(number(3, 32));
  const auto a_write = static_cast<size_t>(number(4, 4));
  if (count < 1 || count > 64 || seconds <= 0 || seconds > 600 || each < 1 || a_write < 1 ||
      a_write > kWindow) {
    std::fprintf(
        stderr, "usage: scaling_bench WORKERS SECONDS [DEVICES_PER_WORKER [MESSAGES_PER_WRITE]]\n");
    return 2;
  }
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);

  NoBell bell;
  Engine engine(&bell);
  EngineOptions options;
  options.workers = static_cast<int>(count);
  options.acknowledge = Acknowledge::kSafe;
  ListenSpec listening;
  listening.transport = Transport::kStreams;
  uint16_t port = 0;
  const Status started = engine.Start(options);
  if (!started.ok() || !engine.ApplyPlan(PlanSpecs()).ok() ||
      !engine.Listen(kSource, listening, &port).ok()) {
    std::fprintf(stderr, "the engine did not start: %s\n", started.message().c_str());
    return 1;
  }
  const std::vector<WorkerInfo> workers = engine.Workers();
  std::vector<std::vector<Sender>> devices(count);
  if (!ConnectAll(&engine, each, &devices)) {
    std::fprintf(stderr, "a device could not connect\n");
    return 1;
  }
  {
    bench::Cloud cloud(engine.LanesOf(0));
    std::atomic<bool> stop{false};
    std::vector<std::thread> generators;
    for (size_t i = 0; i < count; ++i) {
      generators.emplace_back(Generate, &devices[i], workers[i].cpu, a_write, &stop);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(500));  // warm-up
    std::vector<Use> before;
    for (const WorkerInfo& worker : workers) before.push_back(UseOf(worker.tid));
    const Use cloud_before = UseOf(cloud.tid);
    const uint64_t records = cloud.records, batches = cloud.batches;
    const int64_t start_us = MonotonicUs();
    std::this_thread::sleep_for(std::chrono::microseconds(static_cast<int64_t>(seconds * 1e6)));
    const double passed_s = static_cast<double>(MonotonicUs() - start_us) / 1e6;
    const auto came = static_cast<double>(cloud.records - records);
    const auto sealed = static_cast<double>(cloud.batches - batches);
    Use all;
    double most_us = 0;
    for (size_t i = 0; i < count; ++i) {
      const Use after = UseOf(workers[i].tid);
      const double used_us = after.cpu_us - before[i].cpu_us;
      all.cpu_us += used_us;
      all.voluntary += after.voluntary - before[i].voluntary;
      all.involuntary += after.involuntary - before[i].involuntary;
      most_us = std::max(most_us, used_us);
    }
    const double cloud_us = UseOf(cloud.tid).cpu_us - cloud_before.cpu_us;
    stop = true;
    for (std::thread& generator : generators) generator.join();
    std::printf(
        "{\"workers\":%zu,\"cores\":%zu,\"devices\":%zu,\"seconds\":%.2f,\"messagesPerS\":%.0f,"
        "\"workerUs\":%.3f,\"wakesPerMessage\":%.4f,\"preemptedPerMessage\":%.4f,"
        "\"recordsPerBatch\":%.1f,\"workerCores\":%.3f,\"busiestWorker\":%.3f,\"cloudCores\":%.3f}"
        "\n",
        count, AllowedCpus().size(), each * count, passed_s, came / passed_s, all.cpu_us / came,
        all.voluntary / came, all.involuntary / came, came / std::max(1.0, sealed),
        all.cpu_us / 1e6 / passed_s, most_us / 1e6 / passed_s, cloud_us / 1e6 / passed_s);
  }
  devices.clear();
  engine.Close();
  return 0;
}
