// Runs a datagram server with any datagrams, acknowledgements, commands and pauses. Checks that
// memory is bounded, that each sent datagram is well-formed, that a record is delivered once and to
// the worker of its route, and that each command ends once. The input is a list of steps: a byte
// for the kind, two for its size or number, and the bytes of a datagram.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "core/protocol/coap/route.h"
#include "test/support/coap_bench.h"

namespace {

using seganet::coap::CommandStart;
using seganet::coap::Limits;
using seganet::coap::Route;
using seganet::coap::Settings;
using seganet::coap_test::Bytes;
using seganet::coap_test::ReadDatagram;
using seganet::coap_test::Span;

void Check(bool good) {
  if (!good) std::abort();
}

class Fuzzed : public seganet::coap_test::Bench {
 public:
  using Bench::Bench;

  void Send(const seganet::coap::Peer& peer, std::string_view datagram) override {
    Check(ReadDatagram(datagram).good);
    Check(datagram.size() <= 1152);
    // The response to an unproved peer is bounded. It can be two datagrams: an empty ACK and a CON.
    if (in_hand > 0 && !commanded) Check(datagram.size() <= std::max<size_t>(3 * in_hand, 14));
    (void)peer;
  }

  seganet::coap::Answer OnRecord(const seganet::coap::Incoming& record) override {
    Check(record.device == route.device && !record.topic.empty());
    Check(!settings.parted || record.device.starts_with("p:"));
    Check(handed++ == 0);
    if (record.handle != 0) handles.push_back(record.handle);
    return answer;
  }

  void OnCommandAnswer(uint64_t id, uint8_t) override { Check(open.erase(id) == 1); }

  void Feed(std::string_view from, std::string_view datagram) {
    ReadArrival(Span(datagram), settings, &arrival);
    route = RouteOf(arrival);
    in_hand = datagram.size();
    handed = 0;
    server.OnDatagram({from.data(), from.size()}, Span(datagram), now_us);
    const unsigned first = datagram.empty() ? 0 : static_cast<uint8_t>(datagram[0]);
    if (handed > 0 && (first >> 4 & 3) <= 1) {  // the same bytes again are a duplicate
      server.OnDatagram({from.data(), from.size()}, Span(datagram), now_us);
    }
    in_hand = 0;
  }

  Settings settings;
  seganet::coap::Arrival arrival;
  Route route;
  std::set<uint64_t> open;  // commands
  size_t in_hand = 0;       // bytes of the current datagram, 0 = none
  int handed = 0;
  bool commanded = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Limits limits;
  limits.max_unacknowledged = 8;
  limits.max_exchanges = 16;
  limits.max_peers = 4;
  limits.max_queued_per_peer = 4;
  limits.max_observers = 6;
  limits.max_uploads = 4;
  limits.max_upload_bytes = 8192;
  limits.max_command_bytes = 16384;
  Settings settings;
  settings.max_body_bytes = 4096;
  settings.parted = size % 3 > 0;
  if (size % 3 == 1) settings.part = "p";
  Fuzzed bench(settings, limits);
  bench.settings = settings;
  bench.answer.copies = 1;
  constexpr std::string_view kPeers[] = {"one", "two", "three", "four", "five", "six"};
  uint64_t commands = 0;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  for (size_t at = 0; at + 3 <= input.size();) {
    const unsigned step = data[at];
    const size_t number = size_t{data[at + 1]} << 8 | data[at + 2];
    at += 3;
    switch (step & 7) {
      case 5:
        bench.Wait(static_cast<double>(number) / 200);
        break;
      case 6:
        if (!bench.handles.empty()) {
          bench.server.Acknowledge(bench.handles[number % bench.handles.size()], bench.now_us);
        }
        break;
      case 7: {
        bench.commanded = true;
        const Bytes payload(number % 5000, 'c');
        const uint64_t id = ++commands;
        bench.open.insert(id);
        if (bench.Command(id, "d", (step & 8) != 0 ? "cmd/d/x" : "t", payload) !=
            CommandStart::kSent) {
          bench.open.erase(id);
        }
        break;
      }
      default: {
        const size_t n = std::min(number, input.size() - at);
        bench.answer.copies = (step & 8) != 0 ? 1 : 0;
        bench.answer.verdict = static_cast<seganet::coap::Verdict>((step & 7) % 4);
        bench.Feed(kPeers[(step >> 4) % 6], input.substr(at, n));
        at += n;
      }
    }
    Check(bench.server.memory_bytes() < 100'000);
    Check(bench.server.unacknowledged() <= limits.max_unacknowledged);
  }
  bench.Wait(1000);
  Check(bench.open.empty());
  Check(bench.server.unacknowledged() == 0);
  Check(bench.server.NextDeadline() == INT64_MAX);
  return 0;
}
