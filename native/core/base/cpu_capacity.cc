#include "core/base/cpu_capacity.h"

#include <algorithm>
#include <fstream>

namespace seganet {
namespace {

constexpr uint64_t kStrongest = 1024;

// Returns 0 if the file has no positive number.
uint64_t ReadNumber(const std::string& file) {
  std::ifstream in(file);
  int64_t number = 0;
  return in >> number && number > 0 ? static_cast<uint64_t>(number) : 0;
}

// Reads `file` for the core of each worker. Empty if a core has no such number.
std::vector<uint64_t> ReadAll(const std::vector<int>& cpus, const std::string& sysfs,
                              const char* file) {
  std::vector<uint64_t> all;
  for (int cpu : cpus) {
    const std::string folder = sysfs + "/cpu" + std::to_string(cpu);
    const uint64_t number = cpu < 0 ? 0 : ReadNumber(folder + file);
    if (number == 0) return {};
    all.push_back(number);
  }
  return all;
}

}  // namespace

std::vector<uint32_t> WorkerCapacities(const std::vector<int>& cpu_of_worker,
                                       const std::string& sysfs) {
  std::vector<uint64_t> raw = ReadAll(cpu_of_worker, sysfs, "/cpu_capacity");
  if (raw.empty()) raw = ReadAll(cpu_of_worker, sysfs, "/cpufreq/cpuinfo_max_freq");
  if (raw.empty()) raw.assign(cpu_of_worker.size(), kStrongest);
  const uint64_t most = raw.empty() ? 1 : *std::max_element(raw.begin(), raw.end());
  std::vector<uint32_t> capacities;
  for (size_t i = 0; i < raw.size(); ++i) {
    const int cpu = cpu_of_worker[i];
    const auto sharing = cpu < 0 ? 1 : std::count(cpu_of_worker.begin(), cpu_of_worker.end(), cpu);
    const uint64_t of_core = raw[i] * kStrongest / most;
    capacities.push_back(
        static_cast<uint32_t>(std::max<uint64_t>(1, of_core / static_cast<uint64_t>(sharing))));
  }
  return capacities;
}

}  // namespace seganet
