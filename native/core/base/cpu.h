// Which cores this process may use, and pinning of the calling thread to one of them.
#ifndef SEGANET_CORE_BASE_CPU_H_
#define SEGANET_CORE_BASE_CPU_H_

#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace seganet {

// Cores that the process may run on (sched_getaffinity, so cpusets and taskset are respected),
// ascending. Empty where the platform does not tell.
std::vector<int> AllowedCpus();

// Reads a list such as "1-3,5" into `cpus` (ascending, no doubles). Core numbers are 0..1023.
Status ParseCpuList(std::string_view list, std::vector<int>* cpus);

// Chooses a core for each worker. `wanted` empty: every allowed core but the first, which is left
// to JavaScript and interrupts (the first only, when it is the only one). `workers` 0: one for each
// such core, at most 16. A worker beyond the cores shares one; -1 stands for "no core known".
// Wanted cores that are not allowed are an error.
Status AssignCpus(const std::vector<int>& allowed, const std::vector<int>& wanted, int workers,
                  std::vector<int>* cpu_of_worker);

// Pins the calling thread. Returns an empty string, or why it could not be done ("EPERM").
std::string PinThisThread(int cpu);

// Id of the calling thread as in /proc/PID/task; 0 where the platform has none.
int ThisThreadId();

// Shows in /proc/PID/task/TID/comm; at most 15 bytes are kept.
void NameThisThread(const char* name);

}  // namespace seganet

#endif  // SEGANET_CORE_BASE_CPU_H_
