// How much the cores of this machine can do, one against the other (big.LITTLE).
#ifndef SEGANET_CORE_BASE_CPU_CAPACITY_H_
#define SEGANET_CORE_BASE_CPU_CAPACITY_H_

#include <cstdint>
#include <string>
#include <vector>

namespace seganet {

// What each worker can do, 1..1024, that of the strongest core being 1024: `cpu_of_worker` is
// AssignCpus' answer, -1 = no core known. From the kernel's cpu_capacity (arm, arm64, riscv; work a
// cycle counts there) or, where a core has none, from cpufreq's highest frequency; and all the same
// where one of the cores has neither, because the two scales do not compare. Workers that share a
// core share what it can do. `sysfs` stands for /sys/devices/system/cpu.
std::vector<uint32_t> WorkerCapacities(const std::vector<int>& cpu_of_worker,
                                       const std::string& sysfs = "/sys/devices/system/cpu");

}  // namespace seganet

#endif  // SEGANET_CORE_BASE_CPU_CAPACITY_H_
