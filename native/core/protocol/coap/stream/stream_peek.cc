#include "core/protocol/coap/stream/stream_peek.h"

#include <algorithm>
#include <utility>

#include "core/base/require.h"
#include "core/protocol/coap/message.h"
#include "core/protocol/coap/option_reader.h"
#include "core/protocol/coap/request.h"
#include "core/protocol/coap/stream/stream_session.h"

namespace seganet::coap {
namespace {

// Handler of a session without a device, which accepts no records.
class NoHandler : public Handler {
 public:
  Answer OnRecord(const Incoming& record) override {
    (void)record;
    return {Verdict::kNotAllowed, 0, 0};
  }
};

// Returns the device that a request names. '' = none, or its options have not arrived yet.
std::string DeviceOf(const StreamFrame& frame, std::span<const uint8_t> arrived,
                     const Settings& settings) {
  OptionReader reader(arrived);
  size_t end = 0;
  bool is_all = arrived.size() == frame.total - frame.header;
  for (;;) {
    const OptionReader::Step step = reader.Next();
    if (step == OptionReader::Step::kPayload) is_all = true;
    if (step != OptionReader::Step::kOption) break;
    if (reader.number() > kUriQuery) {
      is_all = true;
      break;
    }
    end = reader.position();
  }
  if (!is_all) return {};
  Message message;
  message.code = frame.code;
  message.options = arrived.first(end);
  Request request;
  ParseRequest(message, settings, &request);
  return std::move(request.device);
}

// Answers the messages before the first one that names a device, with a session without a device.
void AnswerBefore(std::span<const uint8_t> bytes, const Settings& settings, size_t answered,
                  StreamPeek* peek) {
  NoHandler handler;
  StreamSession session(&handler, settings, Limits{}, {}, 0);
  session.SkipAnswered(answered);
  peek->reason = session.Feed(bytes);
  peek->answer = session.output();
}

}  // namespace

StreamPeek PeekStream(std::span<const uint8_t> bytes, const Settings& settings, size_t max_bytes,
                      size_t answered) {
  SEGANET_REQUIRE(answered <= bytes.size());
  StreamPeek peek;
  size_t at = 0;  // the end of the messages before the current one
  bool is_bad = false;
  while (at < bytes.size()) {
    const std::span<const uint8_t> rest = bytes.subspan(at);
    const StreamFrame frame = DecodeFrame(rest);
    is_bad = frame.status == StreamFrame::Status::kMalformed ||
             frame.total > settings.max_stream_message_bytes;
    if (is_bad || frame.status != StreamFrame::Status::kOk) break;
    const std::span<const uint8_t> arrived =
        rest.subspan(frame.header, std::min(rest.size(), frame.total) - frame.header);
    // The session refuses a request that no CSM precedes.
    const bool is_request = at > 0 && frame.code != kEmpty && ClassOf(frame.code) == 0;
    if (is_request) peek.device = DeviceOf(frame, arrived, settings);
    if (!peek.device.empty() || rest.size() < frame.total) break;
    at += frame.total;
  }
  AnswerBefore(is_bad ? bytes : bytes.first(at), settings, answered, &peek);
  peek.answered = at;
  if (peek.reason != CloseReason::kNone) {
    peek.status = StreamPeek::Status::kRefuse;
  } else if (!peek.device.empty()) {
    peek.status = StreamPeek::Status::kOk;
  } else if (bytes.size() >= max_bytes) {
    peek.status = StreamPeek::Status::kRefuse;
    peek.reason = CloseReason::kTooLarge;
  }
  return peek;
}

}  // namespace seganet::coap
