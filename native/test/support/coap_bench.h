#ifndef SEGANET_TEST_SUPPORT_COAP_BENCH_H_
#define SEGANET_TEST_SUPPORT_COAP_BENCH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/protocol/coap/datagram/datagram_server.h"
#include "core/protocol/coap/stream/stream_session.h"
#include "test/support/coap_bytes.h"

namespace seganet::coap_test {

// The owner of a server: gives scripted answers and records events.
template <typename Base>
class Owner : public Base {
 public:
  coap::Answer OnRecord(const coap::Incoming& record) override {
    log += "[" + Bytes(record.device) + " " + Bytes(record.topic) + " " +
           std::to_string(record.record_class) + (record.confirmable ? " con " : " non ");
    log += record.payload.size() > 40 ? std::to_string(record.payload.size()) + " bytes]"
                                      : Bytes(record.payload) + "]";
    payload = record.payload;
    handles.push_back(record.handle);
    return answer;
  }
  void OnCommandAnswer(uint64_t id, uint8_t result) override {
    log += "[command " + std::to_string(id) + " " + std::to_string(result) + "]";
  }
  bool MayObserve(std::string_view device) override { return device != "blind"; }
  void OnObserved(std::string_view device, bool on) override {
    log += "[" + Bytes(device) + (on ? " observes]" : " left]");
  }

  // Entries since the last call.
  Bytes TakeLog() { return std::exchange(log, {}); }

  coap::Answer answer;
  Bytes log;
  Bytes payload;  // of the last record
  std::vector<uint64_t> handles;
};

// A datagram server, its network and its clock.
class Bench : public Owner<coap::DatagramHandler> {
 public:
  explicit Bench(const coap::Settings& settings = {}, const coap::Limits& limits = {},
                 uint32_t worker = 0, uint32_t workers = 1)
      : server(this, settings, limits, worker, workers, 0x5EED) {}

  void Send(const coap::Peer& peer, std::string_view datagram) override {
    sent.emplace_back(peer.text(), datagram);
  }

  // The server's packets to any far end because of this datagram.
  std::vector<Read> Ask(std::string_view datagram, std::string_view from = "peer") {
    server.OnDatagram(coap::Peer(from.data(), from.size()), Span(datagram), now_us);
    return TakeSent();
  }

  std::vector<Read> Wait(double seconds) {
    const int64_t until = now_us + static_cast<int64_t>(seconds * 1e6);
    while (server.NextDeadline() <= until) {
      now_us = std::max(now_us, server.NextDeadline());
      server.OnTime(now_us);
    }
    now_us = until;
    return TakeSent();
  }

  std::vector<Read> Acknowledge(uint64_t handle) {
    server.Acknowledge(handle, now_us);
    return TakeSent();
  }

  std::vector<Read> TakeSent() {
    std::vector<Read> all;
    raw.clear();
    for (const auto& [to, bytes] : sent) {
      all.push_back(ReadDatagram(bytes));
      raw.push_back(bytes);
    }
    sent.clear();
    return all;
  }

  // Observes and acknowledges notifications, so that the far end has proved itself.
  void Observe(std::string_view path, std::string_view token, std::string_view from = "peer",
               const Options& more = {}) {
    Options options{{6, ""}};
    for (const auto& option : Path(path, more)) options.push_back(option);
    for (const Read& read : Ask(Datagram(kCon, kGetCode, next_id++, token, options), from)) {
      if (read.type == kCon) Ask(Datagram(kAck, 0, read.id), from);
    }
    TakeLog();
  }

  coap::CommandStart Command(uint64_t id, std::string_view device, std::string_view topic,
                             std::string_view text) {
    return server.Command(id, device, topic, text, now_us);
  }

  coap::DatagramServer server;
  int64_t now_us = 1'000'000;
  unsigned next_id = 0x100;
  std::vector<std::pair<Bytes, Bytes>> sent;
  std::vector<Bytes> raw;  // of the last TakeSent()
};

// A stream session and its output.
class StreamBench : public Owner<coap::Handler> {
 public:
  explicit StreamBench(const coap::Settings& settings = {}, const coap::Limits& limits = {},
                       std::string device = "dev")
      : session(this, settings, limits, std::move(device), now_us) {}

  std::vector<Read> Ask(std::string_view bytes) {
    reason = session.Feed(Span(bytes));
    return TakeSent();
  }

  std::vector<Read> TakeSent() {
    const Bytes bytes(session.output());
    session.ConsumeOutput(bytes.size());
    output += bytes;
    return ReadFrames(bytes);
  }

  int64_t now_us = int64_t{1} << 40;  // the machine has run for a while
  coap::StreamSession session;
  CloseReason reason = CloseReason::kNone;
  Bytes output;  // all of it
};

// A GET with Observe.
inline Bytes ObserveBytes(unsigned id, std::string_view token, std::string_view path,
                          std::string_view observe) {
  Options options{{6, Bytes(observe)}};
  for (const auto& segment : Path(path)) options.push_back(segment);
  return Datagram(kCon, kGetCode, id & 0xFFFF, token, options);
}

}  // namespace seganet::coap_test

#endif  // SEGANET_TEST_SUPPORT_COAP_BENCH_H_
