#ifndef SEGANET_BENCH_LOADGEN_SCHEDULE_H_
#define SEGANET_BENCH_LOADGEN_SCHEDULE_H_

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "options.h"
#include "rate.h"

namespace bench {

inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// splitmix64's mixing function.
inline uint64_t Mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// When one device means to send, message after message, whatever the system does. Two of them for
// one device go through the same times: one says what is due, the other what is sent, and nothing
// between is kept.
class Arrivals {
 public:
  Arrivals(const Rate& rate, const LoadOptions& options, uint32_t number);

  // µs after the start; kNever after the last one.
  int64_t at_us() const { return at_us_; }
  void Next();

 private:
  void Locate();

  const Rate* rate_;
  uint32_t piece_ = 0;
  bool poisson_;
  double devices_;
  double messages_;  // of all devices: where on the time line of Rate
  uint64_t random_;
  int64_t at_us_ = 0;
};

// What is due of all devices.
class Schedule {
 public:
  Schedule(const Rate& rate, const LoadOptions& options);

  // µs after the start of what is due next; kNever: there is no more.
  int64_t next_us() const { return next_us_; }
  // The device whose message that is. REQUIRES: next_us() != kNever.
  uint32_t Take();

 private:
  using Time = std::pair<int64_t, uint32_t>;

  void Locate();

  const Rate* rate_;
  const uint32_t devices_;
  const uint64_t slots_;  // of a periodic load
  uint64_t slot_ = 0;
  uint32_t device_ = 0;
  uint32_t piece_ = 0;
  std::vector<Arrivals> arrivals_;  // of Poisson devices
  std::vector<Time> heap_;          // their next times, the smallest first
  int64_t next_us_ = 0;
};

}  // namespace bench

#endif  // SEGANET_BENCH_LOADGEN_SCHEDULE_H_
