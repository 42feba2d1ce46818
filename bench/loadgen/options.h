#ifndef SEGANET_BENCH_LOADGEN_OPTIONS_H_
#define SEGANET_BENCH_LOADGEN_OPTIONS_H_

#include <netinet/in.h>

#include <cstdint>
#include <string>
#include <vector>

#include "../common/options.h"
#include "../common/record.h"

namespace bench {

// The rate is `times` that of the step for `for_seconds` every `every_seconds`, for the first time
// `every_seconds` after the start. times = 0: never.
struct Burst {
  double every_seconds = 0;
  double for_seconds = 0;
  double times = 0;
};

struct LoadOptions {
  sockaddr_in gateway{};
  uint32_t devices = 1000;
  uint32_t first_device = 0;  // number of the first device; a second generator has another range
  std::vector<double> steps;  // messages per second of all devices, step by step; 0 = silent
  double step_seconds = 20;   // length of each step
  bool stepped = false;       // --steps: the result has an entry per step
  bool poisson = false;       // each device is a Poisson process; else evenly spread phases
  Burst burst;
  double drain_seconds = 30;  // longest wait for the last acknowledgements
  size_t payload_min = 200;
  size_t payload_max = 200;
  uint32_t alarm_every = 20;     // every n-th message is an alarm; 0 = none
  std::vector<uint8_t> kinds;    // of 100 consecutive messages (--shares); empty: by alarm_every
  std::string topic_kind = "t";  // last level of the topic of normal messages
  size_t inflight = 64;          // most unacknowledged messages of a device
  int64_t late_us = 10000;       // a send this long after its intended time counts as late
  int64_t lead_us = 300000;      // from the last connection to the first message
  int64_t skip_us = 0;           // earlier acknowledgements are not in the latency
  int64_t tick_us = 0;           // least time between two wake-ups
  uint64_t seed = 1;
  bool clean = true;  // a new session for each connection; false: the broker keeps it
  uint16_t keepalive_s = 60;
  bool histograms = false;
  int64_t progress_us = 0;  // 0 = no reports
  double connect_seconds = 30;
  std::string out;

  double seconds() const { return step_seconds * static_cast<double>(steps.size()); }
  bool silent() const { return steps.size() == 1 && steps[0] == 0; }
};

// Parses the options. Ends the process with exit code 2 and a message if one is invalid.
LoadOptions ReadLoadOptions(int argc, char** argv);

}  // namespace bench

#endif  // SEGANET_BENCH_LOADGEN_OPTIONS_H_
