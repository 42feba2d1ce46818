// Measures what one device's PUBLISH costs the MQTT session: parsing, reporting and acknowledging
// it. Build with -O2. Prints its conditions, the best and the median of its rounds, and
// allocations.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "core/protocol/mqtt/server_session.h"
#include "test/support/mqtt_bytes.h"

namespace {
uint64_t allocations = 0;
}  // namespace

void* operator new(size_t size) {
  ++allocations;
  void* const memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace {

using seganet::CloseReason;
using seganet::mqtt::Connect;
using seganet::mqtt::ConnectCode;
using seganet::mqtt::Publish;
using seganet::mqtt::ServerSession;
using seganet::mqtt_test::Bytes;

constexpr size_t kReadBytes = 65536;       // the buffer is filled until it has at least this
constexpr size_t kWhole = 2 * kReadBytes;  // reads the whole buffer at once
constexpr size_t kPacketsPerRound = 400000;
constexpr int kRounds = 15;

enum class Ack { kAtOnce, kAfterRead, kReversed };

class Owner : public seganet::mqtt::Handler {
 public:
  ConnectCode OnConnect(const Connect&, std::unique_ptr<seganet::mqtt::KeptSession>*) override {
    return ConnectCode::kAccepted;
  }
  void OnPublish(const Publish& publish) override {
    sum += publish.topic.size() + publish.payload.size() + publish.payload[0];
    if (publish.handle == 0) return;
    if (ack == Ack::kAtOnce) {
      session->AcknowledgePublish(publish.handle);
    } else {
      handles.push_back(publish.handle);
    }
  }

  void AcknowledgeRest() {
    if (ack == Ack::kReversed) std::reverse(handles.begin(), handles.end());
    for (uint64_t handle : handles) session->AcknowledgePublish(handle);
    handles.clear();
  }

  ServerSession* session = nullptr;
  Ack ack = Ack::kAtOnce;
  uint64_t sum = 0;
  std::vector<uint64_t> handles;
};

void Feed(ServerSession* session, std::string_view bytes) {
  if (session->Feed(seganet::mqtt_test::Span(bytes)) != CloseReason::kNone) std::abort();
}

// Feeds one buffer of packets repeatedly, `read` bytes at a time.
void Measure(const char* name, std::string_view topic, int qos, size_t payload, Ack ack,
             size_t read) {
  Bytes buffer;
  size_t packets = 0;
  for (; buffer.size() < kReadBytes; ++packets) {
    const Bytes body(payload, 'x');
    buffer += qos == 0 ? seganet::mqtt_test::Publish0(topic, body)
                       : seganet::mqtt_test::Publish1(
                             topic, static_cast<unsigned>(packets % 65535) + 1, body);
  }
  Owner owner;
  ServerSession session(&owner);
  owner.session = &session;
  owner.ack = ack;
  owner.handles.reserve(packets);
  Feed(&session, seganet::mqtt_test::ConnectPacket());
  session.ConsumeOutput(session.output().size());

  const size_t passes = std::max<size_t>(1, kPacketsPerRound / packets);
  std::vector<double> ns;
  uint64_t allocated = 0;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t before = allocations;
    const auto start = std::chrono::steady_clock::now();
    for (size_t pass = 0; pass < passes; ++pass) {
      for (size_t at = 0; at < buffer.size(); at += read) {
        Feed(&session, std::string_view(buffer).substr(at, read));
        owner.AcknowledgeRest();
        session.ConsumeOutput(session.output().size());
      }
    }
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    ns.push_back(time.count() / static_cast<double>(passes * packets));
    allocated = allocations - before;  // the last round is the steady state
  }
  std::sort(ns.begin(), ns.end());
  std::printf("%-34s %8.1f %8.1f %14.4f\n", name, ns.front(), ns[ns.size() / 2],
              static_cast<double>(allocated) / static_cast<double>(passes * packets));
  if (owner.sum == 0) std::abort();
}

}  // namespace

int main() {
  std::printf("MQTT session, one thread, %zu packets per round, %d rounds\n", kPacketsPerRound,
              kRounds);
  std::printf("compiler %s, pointers %zu bits\n", __VERSION__, sizeof(void*) * 8);
#ifndef __OPTIMIZE__
  std::printf("NOT OPTIMIZED: build with -O2\n");
#endif
  const char* const topic = "plant/7/line/3/temperature";
  std::printf("topic of %zu bytes, reads of %zu kB unless stated\n\n",
              std::string_view(topic).size(), kReadBytes / 1000);
  std::printf("%-34s %8s %8s %14s\n", "ns per PUBLISH", "best", "median", "allocations");
  Measure("QoS 0, 100 B", topic, 0, 100, Ack::kAtOnce, kWhole);
  Measure("QoS 1, 100 B, acked at once", topic, 1, 100, Ack::kAtOnce, kWhole);
  Measure("QoS 1, 100 B, acked after the read", topic, 1, 100, Ack::kAfterRead, kWhole);
  Measure("QoS 1, 100 B, acked in reverse", topic, 1, 100, Ack::kReversed, kWhole);
  Measure("QoS 1, 100 B, reads of 1448 B", topic, 1, 100, Ack::kAtOnce, 1448);
  Measure("QoS 1, 100 B, reads of 100 B", topic, 1, 100, Ack::kAtOnce, 100);
  Measure("QoS 1, 100 B, UTF-8 topic", "\xC3\xBC\xC3\xA4/\xE6\xB8\xA9\xE5\xBA\xA6/\xE5\x80\xA4", 1,
          100, Ack::kAtOnce, kWhole);
  Measure("QoS 1, 10 kB", topic, 1, 10000, Ack::kAtOnce, kWhole);
  return 0;
}
