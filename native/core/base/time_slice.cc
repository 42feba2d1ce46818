#include "core/base/time_slice.h"

#ifdef __linux__
#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#endif

namespace seganet {

#if defined(__linux__) && defined(SYS_sched_getattr) && defined(SYS_sched_setattr)

namespace {

// [sched_setattr(2)] The C library has no declaration of it before glibc 2.41.
struct Attributes {
  uint32_t size;
  uint32_t policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime;
  uint64_t deadline;
  uint64_t period;
};

constexpr int kCallingThread = 0;

// Only policy 0, SCHED_OTHER, has slices of this kind; elsewhere sched_runtime is another thing.
// Kernels that do not know of it report no length, and would ignore a given one.
bool Read(int thread, Attributes* attributes) {
  *attributes = {};
  return syscall(SYS_sched_getattr, thread, attributes, sizeof *attributes, 0) == 0 &&
         attributes->policy == 0 && attributes->runtime != 0;
}

void Shorten(int thread) {
  Attributes attributes;
  if (!Read(thread, &attributes)) return;
  attributes.size = sizeof attributes;
  attributes.runtime = kShortTimeSliceNs;
  syscall(SYS_sched_setattr, thread, &attributes, 0);  // may fail: the thread has ended
}

}  // namespace

uint64_t ShortenTimeSlices() {
  Shorten(kCallingThread);  // before the others, so that threads that it makes inherit it
  if (DIR* tasks = opendir("/proc/self/task"); tasks != nullptr) {
    while (const dirent* entry = readdir(tasks)) {
      const int thread = std::atoi(entry->d_name);  // 0 for "." and ".."
      if (thread > 0) Shorten(thread);
    }
    closedir(tasks);
  }
  return TimeSliceNs();
}

uint64_t TimeSliceNs() {
  Attributes attributes;
  return Read(kCallingThread, &attributes) ? attributes.runtime : 0;
}

#else

uint64_t ShortenTimeSlices() { return 0; }
uint64_t TimeSliceNs() { return 0; }

#endif

}  // namespace seganet
