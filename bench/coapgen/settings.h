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
  LoadOptions load;    // devices, their total rate, seconds, arrivals, seed
  bool udp = false;
  bool closed = false;  // each device keeps `window` requests open, at any rate
  double drain_seconds = 20;
  size_t request_bytes = 109;
  size_t window = 64;             // most unanswered requests of a device; further due requests wait
  std::vector<std::string> path;  // segments; {id} is the device's name
  std::string out;
};

struct Totals {
  uint64_t sent = 0;
  uint64_t answered = 0;       // 2.xx
  uint64_t client_errors = 0;  // 4.xx
  uint64_t unavailable = 0;    // 5.03: the server reports overload
  uint64_t server_errors = 0;  // other 5.xx
  uint64_t unknown = 0;        // unexpected or duplicate answers
  uint64_t late = 0;           // written more than 10 ms after the intended time
  uint64_t retransmitted = 0;
  uint64_t timed_out = 0;  // abandoned after the last retransmission
  uint64_t resets = 0;
  uint64_t lost_connections = 0;
  uint64_t request_bytes = 0;
  uint64_t response_bytes = 0;
  Histogram answer_us;    // intended to answered
  Histogram round_us;     // first written to answered
  Histogram send_lag_us;  // intended to written
};

// The state that all devices share.
struct CoapFleet {
  const Settings& settings;
  const Rate& rate;
  Totals& totals;
};

// Parses the options. Ends the process with exit code 2 and a message if one is invalid.
Settings ReadSettings(int argc, char** argv);

}  // namespace bench

#endif  // SEGANET_BENCH_COAPGEN_SETTINGS_H_
