// Relative capacity of the cores of this machine (big.LITTLE).
#ifndef SEGANET_CORE_BASE_CPU_CAPACITY_H_
#define SEGANET_CORE_BASE_CPU_CAPACITY_H_

#include <cstdint>
#include <string>
#include <vector>

namespace seganet {

// Returns the capacity of each worker, 1..1024; the strongest core has 1024. `cpu_of_worker` is the
// result of AssignCpus, -1 = no core known. The source is the kernel's cpu_capacity (arm, arm64,
// riscv; it includes work per cycle). If a core has none, the source is cpufreq's maximum frequency
// for all cores, because the two scales are not comparable. If a core has neither, all cores count
// as equal. Workers that share a core share its capacity. `sysfs` replaces /sys/devices/system/cpu
// in tests.
std::vector<uint32_t> WorkerCapacities(const std::vector<int>& cpu_of_worker,
                                       const std::string& sysfs = "/sys/devices/system/cpu");

}  // namespace seganet

#endif  // SEGANET_CORE_BASE_CPU_CAPACITY_H_
