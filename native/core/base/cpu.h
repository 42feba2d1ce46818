// The cores that this process may use, and pinning of the calling thread to one of them.
#ifndef SEGANET_CORE_BASE_CPU_H_
#define SEGANET_CORE_BASE_CPU_H_

#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace seganet {

// Returns the cores that the process may run on, ascending (sched_getaffinity, so cpusets and
// taskset are respected). Empty if the platform does not report them.
std::vector<int> AllowedCpus();

// Parses a list such as "1-3,5" into `cpus`, ascending and without duplicates. Core numbers are
// 0..1023.
Status ParseCpuList(std::string_view list, std::vector<int>* cpus);

// Chooses a core for each worker. `allowed` is ascending, as AllowedCpus returns it. If `wanted` is
// empty, workers use all allowed cores except the first, which is left to JavaScript and
// interrupts; if only one core is allowed, they use that one. `workers` == 0 means one worker for
// each such core, at most 16. If there are more workers than cores, workers share cores. -1 = no
// core is known. Returns an error if a wanted core is not allowed.
Status AssignCpus(const std::vector<int>& allowed, const std::vector<int>& wanted, int workers,
                  std::vector<int>* cpu_of_worker);

// Pins the calling thread to `cpu`. Returns an empty string, or the reason for the failure
// ("EPERM").
std::string PinThisThread(int cpu);

// Returns the id of the calling thread as in /proc/PID/task; 0 if the platform has none.
int ThisThreadId();

// Sets the name of the calling thread (/proc/PID/task/TID/comm). Keeps at most 15 bytes.
void NameThisThread(const char* name);

}  // namespace seganet

#endif  // SEGANET_CORE_BASE_CPU_H_
