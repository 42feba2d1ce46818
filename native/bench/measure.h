// What micro benchmarks measure: allocations, and CPU time. Included once in a program.
#ifndef SEGANET_BENCH_MEASURE_H_
#define SEGANET_BENCH_MEASURE_H_

#include <time.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

std::atomic<uint64_t> allocations{0};

// CPU time of this thread, so that other programs disturb less.
[[maybe_unused]] double CpuNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

}  // namespace

// Not inlined: GCC warns of a mismatch of malloc and delete if it inlines only one of the two.
[[gnu::noinline]] void* operator new(size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* const memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

#endif  // SEGANET_BENCH_MEASURE_H_
