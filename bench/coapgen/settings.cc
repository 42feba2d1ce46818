#include "settings.h"

#include <arpa/inet.h>

#include <algorithm>

#include "../common/coap.h"
#include "../common/list.h"

namespace bench {
namespace {

// Returns true if the option is the second word; ends the process if it is neither.
bool IsSecond(const Options& options, const char* name, const char* first, const char* second) {
  const std::string& value = options.Text(name);
  if (value != first && value != second) {
    std::fprintf(stderr, "--%s must be %s or %s\n", name, first, second);
    std::exit(2);
  }
  return value == second;
}

std::vector<std::string> Segments(const std::string& path) {
  std::vector<std::string> segments;
  for (size_t from = 0; from <= path.size();) {
    const size_t end = std::min(path.find('/', from), path.size());
    if (end > from) segments.push_back(path.substr(from, end - from));
    from = end + 1;
    if (!segments.empty() && segments.back().size() > 200) {
      std::fprintf(stderr, "--path: a segment may have at most 200 bytes\n");
      std::exit(2);
    }
  }
  return segments;
}

}  // namespace

Settings ReadSettings(int argc, char** argv) {
  const Options options({{"host", "127.0.0.1"},   {"port", "5683"},
                         {"transport", "tcp"},    {"mode", "open"},
                         {"arrivals", "poisson"}, {"path", "d/{id}/t"},
                         {"query", ""},           {"method", "post"},
                         {"body", "json"},        {"content-format", "-1"},
                         {"devices", "100"},      {"connections", "0"},
                         {"first", "0"},          {"rate", "15000"},
                         {"burst", "25000"},      {"seconds", "30"},
                         {"drain", "20"},         {"request-bytes", "109"},
                         {"window", "64"},        {"seed", "1"},
                         {"hellos", ""},          {"hello-steps", "1"},
                         {"hellos-at-once", "0"}, {"hello-seconds", "60"},
                         {"answers", ""},         {"out", ""},
                         {"targets", ""},         {"notices-below", "100000"}},
                        argc, argv);
  Settings settings;
  settings.server.sin_family = AF_INET;
  settings.server.sin_port = htons(static_cast<uint16_t>(options.Integer("port", 1, 65535)));
  if (inet_pton(AF_INET, options.Text("host").c_str(), &settings.server.sin_addr) != 1) {
    std::fprintf(stderr, "--host must be an IPv4 address\n");
    std::exit(2);
  }
  settings.udp = IsSecond(options, "transport", "tcp", "udp");
  settings.mode = static_cast<Mode>(options.Choice("mode", {"open", "closed", "burst", "hold"}));
  settings.body = static_cast<Body>(options.Choice("body", {"json", "cbor", "none"}));
  constexpr uint8_t kMethods[] = {coap::kPost, coap::kPut, coap::kGet};
  settings.method = kMethods[options.Choice("method", {"post", "put", "get"})];
  settings.first = static_cast<uint32_t>(options.Integer("first", 0, 50000));
  settings.path = Segments(options.Text("path"));
  settings.targets = ReadList(options.Text("targets"));
  settings.query = options.Text("query").substr(0, 200);
  settings.content_format = static_cast<int>(options.Integer("content-format", -1, 65535));
  settings.load.poisson = IsSecond(options, "arrivals", "periodic", "poisson");
  settings.load.devices = static_cast<uint32_t>(options.Integer("devices", 1, 20000));
  const auto connections = static_cast<uint32_t>(options.Integer("connections", 0, 20000));
  settings.connections =
      connections == 0 ? settings.load.devices : std::min(connections, settings.load.devices);
  const bool open = settings.mode == Mode::kOpen;
  settings.load.steps = {open ? options.Number("rate", 1, 1e7) : 0};
  settings.burst = static_cast<uint64_t>(options.Integer("burst", 1, 1e8));
  settings.load.step_seconds = options.Number("seconds", 0.1, 3600);
  settings.load.seed = static_cast<uint64_t>(options.Integer("seed", 0, 1e15));
  settings.drain_seconds = options.Number("drain", 0, 600);
  settings.request_bytes =
      static_cast<size_t>(options.Integer("request-bytes", 0, settings.udp ? 1400 : 60000));
  settings.window = static_cast<size_t>(options.Integer("window", 1, 60000));
  settings.hellos = ReadList(options.Text("hellos"));
  settings.hello_steps = static_cast<size_t>(options.Integer("hello-steps", 1, 20000));
  settings.hellos_at_once = static_cast<size_t>(options.Integer("hellos-at-once", 0, 20000));
  settings.hello_seconds = options.Number("hello-seconds", 0.1, 3600);
  settings.notices_below = static_cast<uint32_t>(options.Integer("notices-below", 1, 100000));
  settings.answers = options.Text("answers");
  settings.out = options.Text("out");
  const size_t wanted = settings.connections * settings.hello_steps;
  if (!options.Text("hellos").empty() && settings.hellos.size() < wanted) {
    std::fprintf(stderr, "--hellos has %zu messages; %zu are needed\n", settings.hellos.size(),
                 wanted);
    std::exit(2);
  }
  const auto names_target = [](const std::string& segment) { return segment == "{to}"; };
  if (settings.targets.empty() &&
      std::any_of(settings.path.begin(), settings.path.end(), names_target)) {
    std::fprintf(stderr, "--path with {to} needs --targets\n");
    std::exit(2);
  }
  if (settings.udp && (settings.connections != settings.load.devices || !settings.hellos.empty())) {
    std::fprintf(stderr, "--connections and --hellos need --transport tcp\n");
    std::exit(2);
  }
  return settings;
}

}  // namespace bench
