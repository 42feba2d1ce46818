#ifndef SEGANET_BENCH_LOADGEN_OPTIONS_H_
#define SEGANET_BENCH_LOADGEN_OPTIONS_H_

#include <netinet/in.h>

#include <cstdint>
#include <string>
#include <vector>

#include "../common/options.h"
#include "../common/record.h"

namespace bench {

// The rate is `times` that of the step for `for_seconds` every `every_seconds`, the first time that
// long after the start. times = 0: never.
struct Burst {
  double every_seconds = 0;
  double for_seconds = 0;
  double times = 0;
};

struct LoadOptions {
  sockaddr_in gateway{};
  uint32_t devices = 1000;
  uint32_t first_device = 0;  // their numbers start here: a second generator is another fleet
  std::vector<double> steps;  // messages a second of all devices, one after the other; 0 = silent
  double step_seconds = 20;   // length of each
  bool stepped = false;       // --steps: the results are told for each
  bool poisson = false;       // each device a Poisson process; else evenly spread phases
  Burst burst;
  double drain_seconds = 30;  // at most, after that, for the last acknowledgements
  size_t payload_min = 200;
  size_t payload_max = 200;
  uint32_t alarm_every = 20;     // one message in so many is an alarm; 0 = none
  std::vector<uint8_t> kinds;    // of 100 messages in a row (--shares); empty: by alarm_every
  std::string topic_kind = "t";  // last level of the topic of normal messages
  size_t inflight = 64;          // unacknowledged messages a device, at most
  int64_t late_us = 10000;       // a send this much after its intended time counts as late
  int64_t lead_us = 300000;      // from the last connection to the first message
  int64_t skip_us = 0;           // acknowledgement latency is not counted before
  int64_t tick_us = 0;           // from one waking to the next, at least
  uint64_t seed = 1;
  bool clean = true;  // a new session at each connection; false: the broker keeps it
  uint16_t keepalive_s = 60;
  bool histograms = false;
  int64_t progress_us = 0;  // 0 = no reports
  double connect_seconds = 30;
  std::string out;

  double seconds() const { return step_seconds * static_cast<double>(steps.size()); }
  bool silent() const { return steps.size() == 1 && steps[0] == 0; }
};

// Ends the process with 2 and a sentence when an option is not good.
LoadOptions ReadLoadOptions(int argc, char** argv);

}  // namespace bench

#endif  // SEGANET_BENCH_LOADGEN_OPTIONS_H_
