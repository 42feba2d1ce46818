// How busy a worker is, and since when it makes no progress.
#ifndef SEGANET_CORE_RUNTIME_LOAD_METER_H_
#define SEGANET_CORE_RUNTIME_LOAD_METER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace seganet {

// Thread safety: Begin and Measure from the worker's thread; the rest from any thread.
class LoadMeter {
 public:
  // Call it when the thread starts: a thread may hang before its first Measure.
  void Begin(int64_t now_us) { measured_us_.store(now_us, std::memory_order_relaxed); }
  // Call it several times a second. `connections` is the number of open device connections.
  void Measure(int64_t now_us, size_t connections);

  // CPU time divided by elapsed time over about the last second, 0..1.
  double busy() const { return busy_.load(std::memory_order_relaxed); }
  size_t connections() const { return connections_.load(std::memory_order_relaxed); }
  // MonotonicUs of the latest Measure or Begin.
  int64_t measured_us() const { return measured_us_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> busy_{0};
  std::atomic<size_t> connections_{0};
  std::atomic<int64_t> measured_us_{0};
  int64_t span_start_us_ = 0;  // of the span that busy() covers next; 0 = none yet
  int64_t span_cpu_us_ = 0;    // CPU time of the thread at its start
};

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_LOAD_METER_H_
