// Measures what rebalancing does for a skewed load: all devices are hashed to one of two workers
// and send at a fixed rate. Prints the CPU use of each worker and the latency of PUBACKs for 'off'
// and 'live', over the last third of each run.
//
//   placement_bench [seconds [devices [total messages per second]]]
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "core/runtime/engine.h"
#include "test/support/device_client.h"
#include "test/support/plan_support.h"

namespace {

using seganet::Engine;
using seganet::MonotonicUs;
using seganet::StageKind;
using seganet::test::DeviceClient;

class Bell : public seganet::Doorbell {
  void Call() override {}
};

struct Outcome {
  std::vector<double> busy;
  double p50 = 0;
  double p99 = 0;
  uint64_t acknowledged = 0;
  uint64_t moved = 0;
};

// Sends from the devices in turn, each when its time has come, and waits for each PUBACK.
std::vector<int64_t> Publish(std::vector<DeviceClient>* devices, double per_s, int64_t from_us,
                             int64_t count_from_us, int64_t until_us, uint64_t* acknowledged) {
  std::vector<int64_t> latencies;
  const std::string payload(200, 'x');
  const auto gap_us = static_cast<int64_t>(1e6 / per_s);
  int64_t due_us = from_us;
  for (size_t i = 0; due_us < until_us; ++i, due_us += gap_us) {
    const int64_t early_us = due_us - MonotonicUs();
    if (early_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(early_us));
    if (MonotonicUs() > until_us) break;
    if (!(*devices)[i % devices->size()].Publish("t", payload)) std::exit(1);
    ++*acknowledged;
    if (due_us >= count_from_us) latencies.push_back(MonotonicUs() - due_us);
  }
  return latencies;
}

Outcome Run(bool rebalance, double seconds, size_t devices, double per_s) {
  constexpr size_t kThreads = 8;
  Bell bell;
  Engine engine(&bell);
  seganet::EngineOptions options;
  options.workers = 2;
  options.rebalance = rebalance;
  // The default, but with a shorter period and a gap that this machine can show.
  options.rebalancing.period_us = 500'000;
  options.rebalancing.limits.least_gap = 0.02;
  if (!engine.Start(options).ok()) std::exit(1);
  (void)engine.ApplyPlan({seganet::test::Spec(1, StageKind::kSource, {2}),
                          seganet::test::BatchStage(2, {3}), seganet::test::UplinkStage(3)});
  uint16_t port = 0;
  if (!engine.Listen(1, {}, &port).ok()) std::exit(1);

  std::vector<std::vector<DeviceClient>> clients(kThreads);
  for (size_t i = 0, n = 0; n < devices; ++i) {
    const std::string id = "device-" + std::to_string(i);
    if (engine.WorkerOf(id) != 0) continue;
    auto& mine = clients[n++ % kThreads];
    mine.emplace_back(port);
    if (!mine.back().Connect(id)) std::exit(1);
  }
  const int64_t from_us = MonotonicUs();
  const auto at = [&](double part) { return from_us + static_cast<int64_t>(seconds * part * 1e6); };
  std::atomic<bool> stop{false};
  std::thread uplink([&] {
    const auto lanes = engine.LanesOf(0);
    seganet::Outlet* outlet = lanes->Attach(&bell);
    while (!stop) {
      uint64_t id = 0;
      while (lanes->Take(outlet, MonotonicUs(), [&](const seganet::Batch& batch) {
        id = batch.id;
        return true;
      })) {
        (void)lanes->Release(outlet, id, MonotonicUs());
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    lanes->Detach(outlet);
  });
  std::vector<std::vector<int64_t>> latencies(kThreads);
  std::vector<uint64_t> acknowledged(kThreads);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      latencies[t] =
          Publish(&clients[t], per_s / kThreads, from_us, at(2.0 / 3), at(1), &acknowledged[t]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  Outcome outcome;
  for (const auto& worker : engine.Workers()) outcome.busy.push_back(worker.busy);
  stop = true;
  uplink.join();
  std::vector<int64_t> all;
  for (size_t t = 0; t < kThreads; ++t) {
    all.insert(all.end(), latencies[t].begin(), latencies[t].end());
    outcome.acknowledged += acknowledged[t];
  }
  std::sort(all.begin(), all.end());
  if (!all.empty()) {
    outcome.p50 = static_cast<double>(all[all.size() / 2]) / 1000;
    outcome.p99 = static_cast<double>(all[all.size() * 99 / 100]) / 1000;
  }
  outcome.moved = engine.rebalanced().moved;
  return outcome;
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 8;
  const size_t devices = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 64;
  const double per_s = argc > 3 ? std::atof(argv[3]) : 8000;
  std::printf("%zu devices of worker 0, %.0f msg/s in total, 200 B, QoS 1, %.0f s each\n", devices,
              per_s, seconds);
  std::printf("%-9s %10s %10s %8s %8s %8s %6s\n", "rebalance", "worker 0", "worker 1", "p50 ms",
              "p99 ms", "acked/s", "moved");
  for (bool rebalance : {false, true}) {
    const Outcome o = Run(rebalance, seconds, devices, per_s);
    std::printf("%-9s %10.3f %10.3f %8.2f %8.2f %8.0f %6llu\n", rebalance ? "live" : "off",
                o.busy[0], o.busy[1], o.p50, o.p99, static_cast<double>(o.acknowledged) / seconds,
                static_cast<unsigned long long>(o.moved));
  }
  return 0;
}
