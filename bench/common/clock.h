#ifndef SEGANET_BENCH_COMMON_CLOCK_H_
#define SEGANET_BENCH_COMMON_CLOCK_H_

#include <sys/resource.h>
#include <time.h>

#include <cstdint>

namespace bench {

// Returns CLOCK_REALTIME in microseconds. Generator and receiver are processes on one machine, so
// the difference of two readings is the latency.
inline int64_t NowUs() {
  timespec ts;
  clock_gettime(CLOCK_REALTIME, &ts);
  return static_cast<int64_t>(ts.tv_sec) * 1000000 + ts.tv_nsec / 1000;
}

// Returns the user and system CPU time of this process in seconds.
inline double CpuSeconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

// Raises the soft limit of open files to at least `wanted`. Returns false if the hard limit is
// lower, and then raises the soft limit to that.
inline bool RaiseFileLimit(rlim_t wanted) {
  rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= wanted) return true;
  limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= wanted;
}

}  // namespace bench

#endif  // SEGANET_BENCH_COMMON_CLOCK_H_
