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

// The intended send times of one device, independent of the system's answers. Two instances for one
// device produce the same times: one tracks due messages, the other sent messages, so no queue
// between them is needed.
class Arrivals {
 public:
  Arrivals(const Rate& rate, const LoadOptions& options, uint32_t number);

  // µs after the start; kNever after the last message.
  int64_t at_us() const { return at_us_; }
  void Next();

 private:
  void Locate();

  const Rate* rate_;
  uint32_t piece_ = 0;
  bool poisson_;
  double devices_;
  double messages_;  // position on the time line of Rate, in messages of all devices
  uint64_t random_;
  int64_t at_us_ = 0;
};

// The due times of all devices.
class Schedule {
 public:
  Schedule(const Rate& rate, const LoadOptions& options);

  // Due time of the next message, µs after the start; kNever: there is no further message.
  int64_t next_us() const { return next_us_; }
  // Removes the next message and returns its device. REQUIRES: next_us() != kNever.
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
  std::vector<Time> heap_;          // their next times, smallest first
  int64_t next_us_ = 0;
};

}  // namespace bench

#endif  // SEGANET_BENCH_LOADGEN_SCHEDULE_H_
