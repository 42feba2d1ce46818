// Open-loop load: many devices, each with its own connection, QoS 1, sending at times that do not
// depend on the system's answers. See load.h, options.h.
//
// Standard output, one JSON object per line: {"event":"connected"}; {"event":"start","us":…} when
// sending begins; {"event":"progress","us":…,"sent":…,"acked":…} every --progress-ms; the result at
// the end. Exit code 1 if the devices could not connect within --connect-seconds.

#include <signal.h>

#include <cstdio>

#include "../common/clock.h"
#include "load.h"
#include "options.h"

namespace bench {
namespace {

int Main(int argc, char** argv) {
  const LoadOptions options = ReadLoadOptions(argc, argv);
  if (!RaiseFileLimit(options.devices + 64)) {
    std::fprintf(stderr, "loadgen: %u devices need more open files: raise `ulimit -Hn`\n",
                 options.devices);
    return 1;
  }
  struct sigaction action {};
  action.sa_handler = [](int) { stopped = 1; };
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);

  Load load(options);
  if (!load.ConnectAll()) {
    std::fprintf(stderr, "loadgen: not every device could connect\n%s\n", load.Json(false).c_str());
    return 1;
  }
  std::puts("{\"event\":\"connected\"}");
  load.Send();
  const std::string json = load.Json(!options.out.empty());
  load.Finish();
  if (!options.out.empty()) {
    std::FILE* file = std::fopen(options.out.c_str(), "w");
    if (file == nullptr || std::fwrite(json.data(), 1, json.size(), file) != json.size() ||
        std::fclose(file) != 0) {
      std::perror("loadgen: --out");
      return 1;
    }
  }
  std::puts(load.Json(false).c_str());
  return 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) { return bench::Main(argc, argv); }
