// CPU time and context switches of each thread of this process, from /proc/self/task.
#ifndef SEGANET_BENCH_CORES_THREAD_USAGE_H_
#define SEGANET_BENCH_CORES_THREAD_USAGE_H_

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

namespace seganet::bench {

struct ThreadUsage {
  std::string name;
  double cpu_us = 0;         // on a core
  double waited_us = 0;      // runnable, without a core
  uint64_t voluntary = 0;    // context switches because it waited for something
  uint64_t involuntary = 0;  // because another thread took its core
};

// Returns the usage of all threads since their start, by thread id.
inline std::map<int, ThreadUsage> ReadThreads() {
  std::map<int, ThreadUsage> threads;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    ThreadUsage usage;
    double cpu_ns = 0, waited_ns = 0;
    std::getline(std::ifstream(entry.path() / "comm"), usage.name);
    std::ifstream(entry.path() / "schedstat") >> cpu_ns >> waited_ns;
    usage.cpu_us = cpu_ns / 1e3;
    usage.waited_us = waited_ns / 1e3;
    std::ifstream status(entry.path() / "status");
    for (std::string line; std::getline(status, line);) {
      const auto value = [&line](std::string_view key) {
        return line.starts_with(key) ? std::strtoull(line.c_str() + key.size(), nullptr, 10) : 0;
      };
      usage.voluntary += value("voluntary_ctxt_switches:");
      usage.involuntary += value("nonvoluntary_ctxt_switches:");
    }
    threads[std::atoi(entry.path().filename().c_str())] = usage;
  }
  return threads;
}

// Returns what each thread of `after` used since `before`.
inline std::map<int, ThreadUsage> UsageSince(const std::map<int, ThreadUsage>& before,
                                             std::map<int, ThreadUsage> after) {
  for (auto& [tid, usage] : after) {
    const auto it = before.find(tid);
    if (it == before.end()) continue;
    usage.cpu_us -= it->second.cpu_us;
    usage.waited_us -= it->second.waited_us;
    usage.voluntary -= it->second.voluntary;
    usage.involuntary -= it->second.involuntary;
  }
  return after;
}

}  // namespace seganet::bench

#endif  // SEGANET_BENCH_CORES_THREAD_USAGE_H_
