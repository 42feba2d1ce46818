// Runs a stream session with a desk and requests to the device with any bytes. Checks that neither
// events nor output depend on how the bytes were split into reads, and that every answer finds at
// most one request. The last two bytes of an input select the mode.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/protocol/coap/stream/stream_session.h"
#include "test/support/coap_bytes.h"

namespace {

using seganet::CloseReason;
using seganet::coap::Limits;
using seganet::coap::Settings;
using seganet::coap::StreamOptions;
using seganet::coap::StreamSession;
using seganet::coap_test::Span;

void Check(bool good) {
  if (!good) std::abort();
}

uint32_t NextRandom(uint32_t* seed) {
  *seed = *seed * 1664525 + 1013904223;
  return *seed >> 24;
}

StreamOptions Options(uint8_t mode) {
  StreamOptions options;
  options.identifies = true;
  options.csm_optional = (mode & 1) != 0;
  options.prefixes = {(mode & 2) != 0 ? "" : "a"};
  options.known_options = {2049};
  options.max_asked = 4;
  options.max_relations = 2;
  return options;
}

class Desk : public seganet::coap::Handler {
 public:
  Desk(const Settings& settings, uint8_t mode)
      : session(this, settings, Limits{}, "", 1, Options(mode)), mode_(mode) {
    if ((mode & 4) == 0) return;
    session.Identify("dev");
    seganet::coap::RequestSpec request;
    request.code = 1;
    request.path = {"x"};
    for (uint64_t id = 1; id <= 6; ++id) {
      request.observe = id % 2 == 0;
      request.payload = std::string(id == 5 ? 3000 : 0, 'p');
      (void)session.Ask(id, request);
    }
  }

  seganet::coap::Answer OnRecord(const seganet::coap::Incoming& record) override {
    log += "[record " + std::string(record.topic) + "]";
    return {};
  }
  seganet::coap::Taker OnAsked(const seganet::coap::Asked& asked) override {
    log += "[" + std::to_string(asked.code);
    for (const auto segment : asked.path) log += "/" + std::string(segment);
    log += " " + std::to_string(asked.payload.size()) + "]";
    tokens.emplace_back(asked.token);
    const bool taken = (mode_ & 8) == 0 || asked.payload.size() % 2 == 0;
    return taken ? seganet::coap::Taker::kDesk : seganet::coap::Taker::kNone;
  }
  void OnAskAnswer(uint64_t id, const seganet::coap::AskAnswer& answer) override {
    Check(id >= 1 && id <= 6);
    log += "[answer " + std::to_string(id) + " " + std::to_string(answer.code) + " " +
           std::to_string(answer.payload.size()) + "]";
  }
  // Answers what was asked; notifications too.
  void AnswerAll() {
    for (const std::string& token : tokens) {
      session.Answer(token, 0x45, {{6, "\x01"}, {12, ""}}, std::string(1500, 'a'));
      session.Answer(token, 0x45, {{6, "\x02"}}, "b");
    }
    tokens.clear();
  }

  StreamSession session;
  std::string log;
  std::vector<std::string> tokens;

 private:
  const uint8_t mode_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const uint8_t mode = data[size - 1];
  uint32_t seed = data[size - 2];
  const std::string_view stream(reinterpret_cast<const char*>(data), size - 2);
  Settings settings;
  if ((mode & 16) != 0) settings.max_body_bytes = 2048;
  Desk whole(settings, mode), split(settings, mode);
  const CloseReason reason = whole.session.Feed(Span(stream));
  CloseReason last = CloseReason::kNone;
  for (size_t at = 0; at < stream.size();) {
    const size_t n = std::min<size_t>(1 + NextRandom(&seed) % 23, stream.size() - at);
    last = split.session.Feed(Span(stream.substr(at, n)));
    at += n;
  }
  // The limit of bytes without a device counts reads, so only it may depend on the split.
  const bool same = stream.size() <= Options(mode).max_bytes_before || (mode & 4) != 0;
  if (same) {
    Check(reason == last);
    Check(whole.log == split.log);
    Check(whole.session.output() == split.session.output());
    Check(whole.session.asked() == split.session.asked());
  }
  whole.AnswerAll();
  Check(whole.session.asked() == 0 || whole.session.close_reason() != CloseReason::kNone);
  for (const auto& read : seganet::coap_test::ReadFrames(whole.session.output())) Check(read.good);
  (void)whole.session.OnTime(int64_t{1} << 40);
  whole.session.Forget();
  return 0;
}
