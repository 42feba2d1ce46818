// Measures what a split stage costs a record, and what silent parts cost a turn and a sweep: one
// worker's pipeline, envelopes of 16 KiB, no log. Build with -O2. Prints the best and the median of
// its rounds.
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/pipeline.h"

namespace {

using seganet::Record, seganet::StageKind, seganet::StageSpec;

constexpr size_t kRecordsPerRound = 100'000;
constexpr size_t kTurnsPerRound = 20'000;
constexpr int kRounds = 15;

class Bell : public seganet::Doorbell {
  void Call() override {}
};

int64_t CpuNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

StageSpec Spec(uint32_t id, StageKind kind, std::vector<uint32_t> next) {
  StageSpec spec;
  spec.id = id;
  spec.kind = kind;
  spec.next = std::move(next);
  return spec;
}

// An ingest stage in front of `parts` batches and uplinks behind a split; 0 = without a split.
std::vector<StageSpec> PlanOf(uint32_t parts, bool limits) {
  std::vector<StageSpec> plan{Spec(1, StageKind::kIngest, {parts == 0 ? 10u : 2u})};
  if (parts > 0) plan.push_back(Spec(2, StageKind::kSplit, {}));
  for (uint32_t i = 0; i < std::max(parts, 1u); ++i) {
    const uint32_t batch = 10 + 2 * i;
    if (parts > 0) {
      plan[1].next.push_back(batch);
      plan[1].parts.push_back({.name = "tenant-" + std::to_string(i),
                               .rate = limits ? seganet::kMaxPartRate : 0,
                               .budget = limits ? uint64_t{1} << 40 : 0});
    }
    plan.push_back(Spec(batch, StageKind::kBatch, {batch + 1}));
    plan.back().batcher.min_devices = 0;
    plan.back().batcher.max_bytes = 16'384;
    plan.push_back(Spec(batch + 1, StageKind::kUplink, {}));
    plan.back().uplink = i;
  }
  return plan;
}

class Bench {
 public:
  Bench(uint32_t parts, bool limits) {
    pipeline_.SetPlan(std::make_shared<const seganet::Plan>(
        PlanOf(parts, limits), 1, nullptr, [this](uint32_t number) {
          auto& lanes = lanes_[number];
          seganet::LanesContext context;
          context.budget = &budget_;
          context.latency = &latency_;
          context.sequence = &sequence_;
          context.on_done = [](const seganet::Batch&, bool) {};
          context.on_room = [] {};
          lanes = std::make_shared<seganet::Lanes>(std::move(context));
          return lanes;
        }));
  }

  void Run(const std::string& device) {
    Record record;
    record.device = device;
    record.topic = "d/pump-1/temperature";
    record.payload = payload_;
    record.arrived_us = ++now_us_;
    if (!pipeline_.Run(1, record).taken) std::exit(1);
  }
  // As a worker's turn: the batches that are due, and the next deadline.
  void Turn() {
    pipeline_.EndTurn(now_us_);
    pipeline_.NextDeadline();
  }
  // As the engine, four times a second.
  void Sweep() {
    for (const auto& [number, lanes] : lanes_) lanes->Sweep(now_us_);
  }
  void Clear() {
    pipeline_.Flush(0, seganet::SealReason::kFlush);
    for (const auto& [number, lanes] : lanes_) lanes->Clear(seganet::Drop::kClosed);
  }

 private:
  const std::string payload_ = std::string(100, 'x');
  int64_t now_us_ = 0;
  seganet::Budget budget_{int64_t{1} << 40};
  seganet::LatencyByClass latency_;
  std::atomic<uint64_t> sequence_{0};
  seganet::CounterBlock counters_;
  seganet::ByteRing ring_{4096};
  Bell bell_;
  std::atomic<int64_t> devices_{100};
  std::map<uint32_t, std::shared_ptr<seganet::Lanes>> lanes_;
  seganet::Pipeline pipeline_{
      seganet::PipelineContext{0, &budget_, &counters_, &ring_, &bell_, &devices_}};
};

void Report(const char* what, size_t each, const std::function<void()>& round,
            const std::function<void()>& after) {
  std::vector<double> ns;
  for (int i = 0; i < kRounds; ++i) {
    const int64_t from = CpuNs();
    round();
    ns.push_back(static_cast<double>(CpuNs() - from) / static_cast<double>(each));
    after();
  }
  std::sort(ns.begin(), ns.end());
  std::printf("%-58s best %7.1f ns  median %7.1f ns\n", what, ns.front(), ns[ns.size() / 2]);
}

void Records(const char* what, uint32_t parts, uint32_t used, bool limits) {
  Bench bench(parts, limits);
  std::vector<std::string> devices;
  for (uint32_t i = 0; i < std::max(used, 1u); ++i) {
    devices.push_back(parts == 0 ? "pump-1" : "tenant-" + std::to_string(i) + ":pump-1");
  }
  Report(
      what, kRecordsPerRound,
      [&] {
        for (size_t i = 0; i < kRecordsPerRound; ++i) bench.Run(devices[i % devices.size()]);
      },
      [&] { bench.Clear(); });
}

void Turns(const char* what, uint32_t parts) {
  Bench bench(parts, false);
  // Each part had a record once. All but one are silent since.
  for (uint32_t i = 0; i < parts; ++i) bench.Run("tenant-" + std::to_string(i) + ":pump-1");
  bench.Clear();
  bench.Run(parts == 0 ? "pump-1" : "tenant-0:pump-1");
  Report(
      what, kTurnsPerRound,
      [&] {
        for (size_t i = 0; i < kTurnsPerRound; ++i) bench.Turn();
      },
      [] {});
}

void Sweeps(const char* what, uint32_t parts) {
  Bench bench(parts, false);
  constexpr size_t kSweeps = 100;
  Report(
      what, kSweeps,
      [&] {
        for (size_t i = 0; i < kSweeps; ++i) bench.Sweep();
      },
      [] {});
}

}  // namespace

int main() {
  std::printf("%zu records of 100 bytes a round, %d rounds\n", kRecordsPerRound, kRounds);
  Records("a record, no split", 0, 1, false);
  Records("a record, 1 part", 1, 1, false);
  Records("a record, 1 part with rate and budget", 1, 1, true);
  Records("a record, 1,000 parts, 1 used", 1000, 1, false);
  Records("a record, 1,000 parts, all used in turn", 1000, 1000, false);
  Records("a record, 1,000 parts with limits, all used in turn", 1000, 1000, true);
  Turns("a turn, no split, 1 open batch", 0);
  Turns("a turn, 1 part, 1 open batch", 1);
  Turns("a turn, 1,000 parts, 1 open batch", 1000);
  Sweeps("a sweep of the empty lanes of 1,000 parts", 1000);
  return 0;
}
