#include "options.h"

#include <arpa/inet.h>

#include <array>
#include <cmath>

namespace bench {
namespace {

constexpr double kMaxRate = 1e7;  // messages per second of all devices

[[noreturn]] void Fail(const char* text) {
  std::fprintf(stderr, "%s\n", text);
  std::exit(2);
}

// Parses numbers divided by `separator`. Returns an empty list if one is invalid.
std::vector<double> Numbers(const std::string& text, char separator) {
  std::vector<double> numbers;
  const char* at = text.c_str();
  while (true) {
    char* end = nullptr;
    numbers.push_back(std::strtod(at, &end));
    if (end == at || (*end != separator && *end != '\0')) return {};
    if (*end == '\0') return numbers;
    at = end + 1;
  }
}

// Parses percent by class such as "1:5,2:10,3:75,4:10". Returns 100 kinds, each spread as evenly as
// its share allows, so that 100 consecutive messages of a device have exactly these shares.
std::vector<uint8_t> ReadShares(const std::string& text) {
  if (text.empty()) return {};
  constexpr const char* kWrong =
      "--shares must be class:percent pairs such as 1:5,2:10,3:75,4:10: classes 1 to 4, whole "
      "percents, 100 in all";
  std::array<int, kKinds> percent{};
  int sum = 0;
  for (size_t from = 0; from <= text.size();) {
    const size_t end = std::min(text.find(',', from), text.size());
    const std::vector<double> pair = Numbers(text.substr(from, end - from), ':');
    from = end + 1;
    int kind = 0;
    while (kind < kKinds && (pair.size() != 2 || pair[0] != kClassOfKind[kind])) ++kind;
    if (kind == kKinds || !(pair[1] >= 0 && pair[1] <= 100) || pair[1] != std::floor(pair[1])) {
      Fail(kWrong);
    }
    percent[static_cast<size_t>(kind)] += static_cast<int>(pair[1]);
    sum += static_cast<int>(pair[1]);
  }
  if (sum != 100) Fail(kWrong);
  // Smooth weighted round robin: the kind that is furthest behind its share is next.
  std::vector<uint8_t> kinds;
  std::array<int, kKinds> behind{};
  for (int i = 0; i < 100; ++i) {
    size_t most = 0;
    for (size_t kind = 0; kind < kKinds; ++kind) {
      behind[kind] += percent[kind];
      if (behind[kind] > behind[most]) most = kind;
    }
    behind[most] -= 100;
    kinds.push_back(static_cast<uint8_t>(most));
  }
  return kinds;
}

void ReadRate(const Options& o, LoadOptions* load) {
  load->stepped = !o.Text("steps").empty();
  if (load->stepped) {
    load->steps = Numbers(o.Text("steps"), ',');
    for (double rate : load->steps) {
      if (!(rate >= 1 && rate <= kMaxRate)) load->steps.clear();
      if (load->steps.empty()) break;
    }
    if (load->steps.empty() || load->steps.size() > 1000) {
      Fail("--steps must be messages per second such as 1000,1200: 1 to 1000 numbers, 1 to 1e7");
    }
    load->step_seconds = o.Number("step-seconds", 0.1, 3600);
  } else {
    const double rate = o.Number("rate", 0, 100000);
    if (rate > 0 && rate < 0.001) Fail("--rate must be 0 or from 0.001 to 100000");
    load->steps = {rate * load->devices};
    load->step_seconds = o.Number("seconds", 0.1, 3600);
  }
  if (load->seconds() > 36000) Fail("all steps together may take at most 36000 s");
  const std::string& arrivals = o.Text("arrivals");
  load->poisson = arrivals == "poisson";
  if (!load->poisson && arrivals != "periodic") Fail("--arrivals must be periodic or poisson");
  if (o.Text("burst").empty()) return;
  const std::vector<double> burst = Numbers(o.Text("burst"), ':');
  if (burst.size() != 3 || !(burst[0] >= 0.01) || !(burst[1] > 0 && burst[1] < burst[0]) ||
      !(burst[2] > 0 && burst[2] <= 1000)) {
    Fail(
        "--burst must be EVERY:FOR:TIMES such as 5:0.5:10: every 5 s ten times the rate for 0.5 s");
  }
  load->burst = {burst[0], burst[1], burst[2]};
}

void ReadPayload(const std::string& text, LoadOptions* load) {
  std::vector<double> range = Numbers(text, '-');
  if (range.size() == 1) range.push_back(range[0]);
  if (range.size() != 2 || !(range[0] >= 0 && range[0] <= range[1] && range[1] <= 1 << 20)) {
    Fail("--payload must be a number of bytes or a range such as 100-400, to 1048576");
  }
  load->payload_min = static_cast<size_t>(range[0]);
  load->payload_max = static_cast<size_t>(range[1]);
}

}  // namespace

LoadOptions ReadLoadOptions(int argc, char** argv) {
  const Options o({{"host", "127.0.0.1"},
                   {"port", "1883"},
                   {"devices", "1000"},
                   {"first-device", "0"},
                   {"rate", "10"},
                   {"seconds", "20"},
                   {"steps", ""},
                   {"step-seconds", "10"},
                   {"arrivals", "periodic"},
                   {"burst", ""},
                   {"drain", "30"},
                   {"payload", "200"},
                   {"alarm-every", "20"},
                   {"shares", ""},
                   {"topic-kind", "t"},
                   {"inflight", "64"},
                   {"clean", "1"},
                   {"lead-ms", "300"},
                   {"keepalive", "60"},
                   {"progress-ms", "0"},
                   {"late-ms", "10"},
                   {"skip-ms", "0"},
                   {"tick-us", "0"},
                   {"seed", "1"},
                   {"histograms", "0"},
                   {"connect-seconds", "30"},
                   {"out", ""}},
                  argc, argv);
  LoadOptions load;
  load.gateway.sin_family = AF_INET;
  load.gateway.sin_port = htons(static_cast<uint16_t>(o.Integer("port", 1, 65535)));
  if (inet_pton(AF_INET, o.Text("host").c_str(), &load.gateway.sin_addr) != 1) {
    Fail("--host must be an IPv4 address");
  }
  load.devices = static_cast<uint32_t>(o.Integer("devices", 1, 50000));
  load.first_device = static_cast<uint32_t>(o.Integer("first-device", 0, 50000 - 1));
  ReadRate(o, &load);
  ReadPayload(o.Text("payload"), &load);
  load.drain_seconds = o.Number("drain", 0, 600);
  load.alarm_every = static_cast<uint32_t>(o.Integer("alarm-every", 0, 1000000));
  load.kinds = ReadShares(o.Text("shares"));
  load.topic_kind = o.Text("topic-kind");
  if (load.topic_kind.empty() || load.topic_kind.size() > 64 ||
      load.topic_kind.find_first_of("/+#") != std::string::npos) {
    Fail("--topic-kind must be one level of a topic, without / + #, of at most 64 bytes");
  }
  load.lead_us = o.Integer("lead-ms", 0, 60000) * 1000;
  load.clean = o.Integer("clean", 0, 1) == 1;
  load.keepalive_s = static_cast<uint16_t>(o.Integer("keepalive", 1, 65535));
  load.inflight = static_cast<size_t>(o.Integer("inflight", 1, 60000));
  load.late_us = o.Integer("late-ms", 0, 60000) * 1000;
  load.skip_us = o.Integer("skip-ms", 0, 3600000) * 1000;
  load.tick_us = o.Integer("tick-us", 0, 1000000);
  load.seed = static_cast<uint64_t>(o.Integer("seed", 0, 1e15));
  load.histograms = o.Integer("histograms", 0, 1) == 1;
  load.progress_us = o.Integer("progress-ms", 0, 60000) * 1000;
  load.connect_seconds = o.Number("connect-seconds", 1, 600);
  load.out = o.Text("out");
  return load;
}

}  // namespace bench
