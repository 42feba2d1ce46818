// Measures what last values cost a record. Build with -O2. Prints its conditions, the best and the
// median of its rounds, and allocations.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "core/devices/device_table.h"
#include "core/devices/last_values.h"

namespace {

using namespace seganet;

constexpr size_t kRecordsPerRound = 200'000;
constexpr int kRounds = 15;

struct Load {
  size_t devices = 1000;
  size_t topics = 1;  // of each device
  uint32_t memory_mib = 64;
  int64_t gap_us = 100;     // between two records
  bool is_endless = false;  // each record has a new topic
};

// Records go to the devices in turns; all devices send a topic before the next one.
void Measure(const char* name, const Load& load) {
  SharedValues shared;
  shared.memory.SetLimit(int64_t{load.memory_mib} << 20);
  CounterBlock counters;
  std::atomic<int64_t> connected{0};
  LastValues values({.memory_mib = load.memory_mib, .not_kept = {}}, 0, &shared, &counters);
  Identities identities;
  DeviceTable table(load.devices, &connected, &identities);
  std::vector<Device*> devices;
  for (size_t i = 0; i < load.devices; ++i) {
    devices.push_back(table.Get("pump-" + std::to_string(i), 0));
  }
  std::vector<std::string> topics, payloads;
  for (size_t i = 0; i < load.topics; ++i) topics.push_back("plant/pumps/" + std::to_string(i));
  for (size_t i = 0; i < 64; ++i) {
    payloads.push_back("{\"id\":\"pump\",\"temp\":" + std::to_string(20 + i) + ".5,\"note\":\"");
    payloads.back().resize(198, 'x');
    payloads.back() += "\"}";
  }
  std::vector<double> rounds;
  uint64_t made = 0;
  size_t sent = 0;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t before = allocations;
    const double start = CpuNs();
    for (size_t i = 0; i < kRecordsPerRound; ++i, ++sent) {
      Record record;
      std::string& topic = topics[sent / load.devices % load.topics];
      if (load.is_endless) topic = "plant/pumps/" + std::to_string(sent);
      record.topic = topic;
      record.payload = payloads[sent % payloads.size()];
      record.arrived_us = static_cast<int64_t>(sent) * load.gap_us + 1;
      values.Keep(devices[sent % load.devices], record);
    }
    rounds.push_back((CpuNs() - start) / kRecordsPerRound);
    if (round > 0) made += allocations - before;  // the first round makes what stays
  }
  std::sort(rounds.begin(), rounds.end());
  std::printf("%-52s best %5.0f ns, median %5.0f ns a record, %.4f allocations, %lld values\n",
              name, rounds.front(), rounds[rounds.size() / 2],
              static_cast<double>(made) / (kRecordsPerRound * (kRounds - 1)),
              static_cast<long long>(shared.kept.load()));
}

}  // namespace

int main() {
  std::printf("%d rounds of %zu records with 200 bytes of JSON, one thread\n", kRounds,
              kRecordsPerRound);
  Measure("off", {.memory_mib = 0});
  Measure("1 device, 1 topic", {.devices = 1});
  Measure("1,000 devices, 1 topic, 10 records/s each", {});
  Measure("1,000 devices, 10 topics, 10 records/s each", {.topics = 10});
  Measure("1,000 devices, 1 topic, a record a minute each", {.gap_us = 60'000});
  Measure("100 devices, 256 topics", {.devices = 100, .topics = 256});
  Measure("1,000 devices, new topics, memory full", {.memory_mib = 16, .is_endless = true});
  return 0;
}
