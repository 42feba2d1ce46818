#include "core/base/clock.h"

#include <ctime>

namespace seganet {

int64_t MonotonicUs() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000 + t.tv_nsec / 1'000;
}

int64_t ThreadCpuUs() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return int64_t{t.tv_sec} * 1'000'000 + t.tv_nsec / 1'000;
}

Now Now::Read() {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return {MonotonicUs(), int64_t{t.tv_sec} * 1'000 + t.tv_nsec / 1'000'000};
}

}  // namespace seganet
