// A stream session whose requests go to a desk, and what its owner gets.
#ifndef SEGANET_TEST_SUPPORT_COAP_DESK_BENCH_H_
#define SEGANET_TEST_SUPPORT_COAP_DESK_BENCH_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/protocol/coap/stream/stream_session.h"
#include "test/support/coap_bytes.h"

namespace seganet::coap_test {

inline coap::StreamOptions DeskStreamOptions() {
  coap::StreamOptions options;
  options.identifies = true;
  options.csm_optional = true;
  options.prefixes = {"oic/sec", "a"};
  options.known_options = {2049, 2053};
  return options;
}

inline coap::Settings WithBodies(size_t bytes) {
  coap::Settings settings;
  settings.max_body_bytes = bytes;
  return settings;
}

// A stream whose owner takes requests and records them.
class DeskBench : public coap::Handler {
 public:
  explicit DeskBench(const coap::StreamOptions& options = DeskStreamOptions(),
                     const coap::Settings& settings = {})
      : session(this, settings, coap::Limits{}, "", now_us, options) {}

  coap::Answer OnRecord(const coap::Incoming& record) override {
    log += "[record " + Bytes(record.topic) + "]";
    return {};
  }
  coap::Taker OnAsked(const coap::Asked& asked) override {
    log += "[" + std::to_string(asked.code) + " ";
    for (const auto segment : asked.path) log += "/" + Bytes(segment);
    for (const auto query : asked.query) log += "?" + Bytes(query);
    for (const auto& option : asked.options) {
      log += " " + std::to_string(option.number) + "=" + Bytes(option.value);
    }
    payload = asked.payload;
    log += payload.size() > 40 ? " " + std::to_string(payload.size()) + " bytes]"
                               : " " + payload + "]";
    asked_id = asked.id;
    reuses_token = asked.reuses_token;
    return taker;
  }
  void OnAskAnswer(uint64_t id, const coap::AskAnswer& answer) override {
    log += "[answer " + std::to_string(id) + " " + std::to_string(answer.code >> 5) + "." +
           std::to_string(answer.code & 31);
    for (const auto& option : answer.options) log += " " + std::to_string(option.number);
    log += answer.payload.size() > 60 ? " " + std::to_string(answer.payload.size()) + " bytes"
                                      : " " + answer.payload;
    log += answer.observed ? " observed]" : "]";
    payload = answer.payload;
  }

  std::vector<Read> Feed(std::string_view bytes) {
    reason = session.Feed(Span(bytes));
    return Sent();
  }
  std::vector<Read> Sent() {
    const Bytes bytes(session.output());
    session.ConsumeOutput(bytes.size());
    return ReadFrames(bytes);
  }
  Bytes TakeLog() { return std::exchange(log, {}); }

  int64_t now_us = int64_t{1} << 40;
  coap::StreamSession session;
  CloseReason reason = CloseReason::kNone;
  coap::Taker taker = coap::Taker::kDesk;
  uint64_t asked_id = 0;  // of the latest request
  bool reuses_token = false;
  Bytes log, payload;
};

inline Bytes Get(std::string_view token, std::string_view path, const Options& more = {}) {
  return Frame(kGetCode, token, Path(path, more));
}

inline Bytes Observe(std::string_view token, std::string_view path, const Bytes& value = "") {
  Options options{{6, value}};
  for (const auto& option : Path(path)) options.push_back(option);
  return Frame(kGetCode, token, options);
}

}  // namespace seganet::coap_test

#endif  // SEGANET_TEST_SUPPORT_COAP_DESK_BENCH_H_
