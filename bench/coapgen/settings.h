#ifndef SEGANET_BENCH_COAPGEN_SETTINGS_H_
#define SEGANET_BENCH_COAPGEN_SETTINGS_H_

#include <netinet/in.h>

#include <cstdint>
#include <string>
#include <vector>

#include "../common/histogram.h"
#include "../loadgen/options.h"
#include "../loadgen/rate.h"
#include "notices.h"

namespace bench {

// kOpen: requests at times that do not depend on the answers. kClosed: the window of each
// connection is always full. kBurst: all requests are due at the start. kHold: no requests.
enum class Mode { kOpen, kClosed, kBurst, kHold };

// kJson: the record. kCbor: a map whose only member `r` is the record as text. kNone: no payload.
enum class Body { kJson, kCbor, kNone };

struct Settings {
  sockaddr_in server{};
  uint32_t first = 0;  // number of the first device
  uint8_t method = 0;  // code of the requests
  LoadOptions load;    // devices, their total rate, seconds, arrivals, seed
  bool udp = false;
  Mode mode = Mode::kOpen;
  Body body = Body::kJson;
  uint64_t burst = 0;        // requests of all devices together
  uint32_t connections = 0;  // device i uses connection i % connections
  double drain_seconds = 20;
  size_t request_bytes = 109;
  size_t window = 64;  // most unanswered requests of a connection; further due requests wait
  std::vector<std::string> path;  // segments; {id} is the device's name, {to} its target
  // Values of {to}: device i has the one with the number i % targets.size().
  std::vector<std::string> targets;
  std::string query;        // one Uri-Query; empty = none
  int content_format = -1;  // -1 = no such option
  // The messages that a connection sends before the load, each after a 2.xx answer to the one
  // before. Those of connection i begin at i * hello_steps. Empty = none.
  std::vector<std::string> hellos;
  size_t hello_steps = 1;
  size_t hellos_at_once = 0;            // most connections that are in these messages; 0 = all
  uint32_t notices_below = UINT32_MAX;  // notifications of devices from this number on do not count
  double hello_seconds = 60;            // longest time for all of them
  std::string answers;                  // file for the bodies of their answers; empty = none
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
  uint64_t pongs = 0;
  uint64_t requests_answered = 0;  // of others, to a device
  uint64_t request_bytes = 0;
  uint64_t response_bytes = 0;
  int64_t last_sent_us = 0;      // time of the last request
  int64_t last_answered_us = 0;  // and of the last 2.xx
  Histogram answer_us;           // intended to answered
  Histogram round_us;            // first written to answered
  Histogram send_lag_us;         // intended to written
  Notices notices;
  Histogram hello_us;  // of a connection: from connect() to the last answer before the load
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
