#ifndef SEGANET_BENCH_LOADGEN_COUNTERS_H_
#define SEGANET_BENCH_LOADGEN_COUNTERS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "../common/histogram.h"
#include "../common/record.h"

namespace bench {

// Counters of the messages whose intended time is in one step.
struct StepCounters {
  uint64_t sent = 0;
  uint64_t acked = 0;
  uint64_t late = 0;
  Histogram ack_us;
};

struct LoadCounters {
  uint64_t sent = 0;
  uint64_t acked = 0;
  uint64_t resent = 0;
  uint64_t late = 0;
  uint64_t pings = 0;
  uint64_t connection_losses = 0;
  uint64_t acks_out_of_order = 0;
  uint64_t acks_unknown = 0;
  uint64_t protocol_errors = 0;
  Histogram ack_us;             // intended to acknowledged
  Histogram puback_us[kKinds];  // first written to acknowledged
  Histogram send_lag_us;        // intended to written, whatever the reason
  std::vector<StepCounters> steps;
  int64_t step_us = 0;

  // Returns the counters of the step `at_us` after the start, nullptr without steps.
  StepCounters* StepAt(int64_t at_us) {
    if (steps.empty()) return nullptr;
    const auto step = static_cast<size_t>(std::max<int64_t>(at_us, 0) / step_us);
    return &steps[std::min(step, steps.size() - 1)];
  }
};

}  // namespace bench

#endif  // SEGANET_BENCH_LOADGEN_COUNTERS_H_
