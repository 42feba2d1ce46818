// Measures what one record over CoAP costs the protocol: reading it, passing it on, and answering
// it when it is safe. A request over TCP has 109 bytes, as in the IoTivity Cloud paper. Build with
// -O2. Prints ns and allocations per request, one line per transport.
//
//   coap_bench [stream|datagram] [requests]
//
// For valgrind --tool=callgrind, select one transport and few requests.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "core/protocol/coap/datagram/datagram_server.h"
#include "core/protocol/coap/stream/stream_session.h"
#include "test/support/coap_bytes.h"

namespace {

using namespace seganet;
using coap_test::Bytes;

constexpr size_t kDevices = 500;
constexpr size_t kWindow = 4;  // requests per read of a device that are not safe yet

// Counts bytes, and collects the handles of records that are not safe yet.
template <typename Base>
class Owner : public Base {
 public:
  coap::Answer OnRecord(const coap::Incoming& record) override {
    sum += record.device.size() + record.topic.size() + record.payload.size();
    handles.push_back(record.handle);
    return {coap::Verdict::kTaken, 1, 0};
  }
  uint64_t sum = 0;
  std::vector<uint64_t> handles;
};

class Network final : public Owner<coap::DatagramHandler> {
 public:
  void Send(const coap::Peer&, std::string_view datagram) override { sum += datagram.size(); }
};

class Stream final : public Owner<coap::Handler> {};

std::string Device(size_t i) { return "dev-" + std::to_string(10000 + i); }

// The path d/dev-10000/t, and a payload with which a request over TCP has 109 bytes.
coap_test::Options Options(size_t device) { return coap_test::Path("d/" + Device(device) + "/t"); }
const Bytes kPayload(87, 'x');

void Check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "coap_bench: %s\n", what);
  std::exit(1);
}

// Each device in turn receives kWindow requests; they become safe after all devices had their turn.
uint64_t RunStream(size_t requests) {
  std::vector<std::unique_ptr<Stream>> owners;
  std::vector<std::unique_ptr<coap::StreamSession>> sessions;
  std::vector<Bytes> reads;
  coap::Settings settings;
  settings.path = "d";
  for (size_t i = 0; i < kDevices; ++i) {
    owners.push_back(std::make_unique<Stream>());
    sessions.push_back(std::make_unique<coap::StreamSession>(owners.back().get(), settings,
                                                             coap::Limits(), Device(i), 0));
    Check(sessions.back()->Feed(coap_test::Span(coap_test::Csm())) == CloseReason::kNone, "CSM");
    Bytes read;
    for (size_t k = 0; k < kWindow; ++k) {
      read += coap_test::Frame(2, "tok" + std::to_string(k), Options(i), kPayload);
    }
    reads.push_back(read);
  }
  Check(reads[0].size() == kWindow * 109, "the request does not have 109 bytes");
  uint64_t done = 0;
  while (done < requests) {
    for (size_t i = 0; i < kDevices; ++i) {
      Check(sessions[i]->Feed(coap_test::Span(reads[i])) == CloseReason::kNone, "closed");
    }
    for (size_t i = 0; i < kDevices; ++i) {
      for (const uint64_t handle : owners[i]->handles) sessions[i]->Acknowledge(handle);
      owners[i]->handles.clear();
      Check(sessions[i]->output().size() == kWindow * 6, "answers");
      sessions[i]->ConsumeOutput(kWindow * 6);
    }
    done += kDevices * kWindow;
  }
  return done;
}

uint64_t RunDatagrams(size_t requests) {
  Network network;
  coap::Settings settings;
  settings.path = "d";
  coap::DatagramServer server(&network, settings, coap::Limits(), 0, 1, 0x5EED);
  std::vector<coap::Peer> peers;
  std::vector<Bytes> datagrams;
  for (size_t i = 0; i < kDevices; ++i) {
    const uint32_t ends[] = {4, static_cast<uint32_t>(i), 0x0100007F, 0x0100007F};
    peers.emplace_back(ends, sizeof ends);
    datagrams.push_back(coap_test::Datagram(0, 2, 0, "toke", Options(i), kPayload));
  }
  uint64_t done = 0;
  int64_t now_us = 0;
  uint16_t id = 0;
  while (done < requests) {
    for (size_t k = 0; k < kWindow; ++k, ++id) {
      for (size_t i = 0; i < kDevices; ++i) {
        datagrams[i][2] = static_cast<char>(id >> 8);
        datagrams[i][3] = static_cast<char>(id & 0xFF);
        server.OnDatagram(peers[i], coap_test::Span(datagrams[i]), now_us);
      }
    }
    now_us += 20'000;
    for (const uint64_t handle : network.handles) server.Acknowledge(handle, now_us);
    Check(network.handles.size() == kDevices * kWindow, "some requests were taken as duplicates");
    network.handles.clear();
    done += kDevices * kWindow;
  }
  return done;
}

void Measure(const char* name, uint64_t (*run)(size_t), size_t requests) {
  const uint64_t allocated = allocations;
  const auto since = std::chrono::steady_clock::now();
  const uint64_t done = run(requests);
  const double ns =
      std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - since).count();
  std::printf("%-9s %6.0f ns  %5.2f allocations per request\n", name,
              ns / static_cast<double>(done),
              static_cast<double>(allocations - allocated) / static_cast<double>(done));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string only = argc > 1 ? argv[1] : "";
  const size_t requests = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 2'000'000;
  if (only != "datagram") Measure("stream", RunStream, requests);
  if (only != "stream") Measure("datagram", RunDatagrams, requests);
}
