#ifndef SEGANET_BENCH_COAPGEN_SETTINGS_H_
#define SEGANET_BENCH_COAPGEN_SETTINGS_H_

#include <netinet/in.h>

#include <cstdint>
#include <string>
#include <vector>

#include "../common/histogram.h"
#include "../loadgen/options.h"
#include "../loadgen/rate.h"

namespace bench {

struct Settings {
  sockaddr_in server{};
  uint32_t first = 0;  // number of the first device
  uint8_t method = 0;  // code of the requests
  LoadOptions load;    // devices, rate of all together, seconds, arrivals, seed
  bool udp = false;
  bool closed = false;  // each device keeps `window` requests open, whatever the rate
  double drain_seconds = 20;
  size_t request_bytes = 109;
  size_t window = 64;  // unanswered requests of a device, at most; what is due beyond waits
  std::vector<std::string> path;  // segments; {id} is the device's name
  std::string out;
};

struct Totals {
  uint64_t sent = 0;
  uint64_t answered = 0;       // 2.xx
  uint64_t client_errors = 0;  // 4.xx
  uint64_t unavailable = 0;    // 5.03: the server is overloaded, and says so
  uint64_t server_errors = 0;  // the rest of 5.xx
  uint64_t unknown = 0;        // an answer to nothing, or a second one
  uint64_t late = 0;           // written more than 10 ms after it was meant to be
  uint64_t retransmitted = 0;
  uint64_t timed_out = 0;  // given up after the last retransmission
  uint64_t resets = 0;
  uint64_t lost_connections = 0;
  uint64_t request_bytes = 0;
  uint64_t response_bytes = 0;
  Histogram answer_us;    // intended to answered
  Histogram round_us;     // written first to answered
  Histogram send_lag_us;  // intended to written
};

// What all devices have in common.
struct CoapFleet {
  const Settings& settings;
  const Rate& rate;
  Totals& totals;
};

// Ends the process with 2 and a sentence when an option is not good.
Settings ReadSettings(int argc, char** argv);

}  // namespace bench

#endif  // SEGANET_BENCH_COAPGEN_SETTINGS_H_
