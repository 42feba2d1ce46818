// Runs a stream session with any bytes. Checks that neither events nor output depend on how the
// bytes were split into reads, and that the acceptor answers messages before the first device as a
// session with the whole stream does. The last two bytes of an input select the mode.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/protocol/coap/stream/stream_peek.h"
#include "test/support/coap_bench.h"

namespace {

using seganet::CloseReason;
using seganet::coap::Limits;
using seganet::coap::Settings;
using seganet::coap::StreamPeek;
using seganet::coap_test::Bytes;
using seganet::coap_test::Span;
using seganet::coap_test::StreamBench;

void Check(bool good) {
  if (!good) std::abort();
}

uint32_t NextRandom(uint32_t* seed) {
  *seed = *seed * 1664525 + 1013904223;
  return *seed >> 24;
}

void CheckSplit(std::string_view stream, const Settings& settings, bool late, uint32_t seed) {
  StreamBench whole(settings);
  whole.answer.copies = late ? 1 : 0;
  whole.Ask(stream);
  for (const auto& read : seganet::coap_test::ReadFrames(whole.output)) Check(read.good);
  StreamBench split(settings);
  split.answer.copies = whole.answer.copies;
  for (size_t at = 0; at < stream.size();) {
    const size_t size = std::min<size_t>(1 + NextRandom(&seed) % 23, stream.size() - at);
    split.Ask(stream.substr(at, size));
    at += size;
    Check(split.session.buffered_bytes() <= std::max<size_t>(4096, 2 * at));
  }
  Check(split.reason == whole.reason);
  Check(split.log == whole.log);
  Check(split.output == whole.output);
  Check(split.session.unacknowledged() == whole.session.unacknowledged());
  for (const uint64_t handle : whole.handles) whole.session.Acknowledge(handle);
  Check(whole.session.unacknowledged() == 0 || whole.reason != CloseReason::kNone);
}

void CheckPeek(std::string_view stream, const Settings& settings, uint32_t seed) {
  Bytes answers;
  size_t answered = 0;
  for (size_t at = 0; at < stream.size();) {
    at = std::min<size_t>(at + 1 + NextRandom(&seed) % 37, stream.size());
    const StreamPeek peek = PeekStream(Span(stream.substr(0, at)), settings, 1 << 20, answered);
    answers += peek.answer;
    answered = peek.answered;
    if (peek.status == StreamPeek::Status::kNeedMore) continue;
    const bool ok = peek.status == StreamPeek::Status::kOk;
    StreamBench whole(settings, {}, peek.device);
    whole.Ask(ok ? stream : stream.substr(0, at));
    if (ok) {
      StreamBench rest(settings, {}, peek.device);
      rest.session.SkipAnswered(answered);
      rest.Ask(stream);
      Check(rest.log == whole.log);
      answers += rest.output;
    } else {
      Check(whole.reason == peek.reason);
    }
    Check(whole.output == answers);
    return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const uint8_t mode = data[size - 1];
  const uint32_t seed = data[size - 2];
  Settings settings;
  if ((mode & 2) != 0) {
    settings.max_stream_message_bytes = 256;
    settings.max_body_bytes = 2048;
  }
  Bytes stream;
  if ((mode & 1) != 0) stream = seganet::coap_test::Csm();
  stream.append(reinterpret_cast<const char*>(data), size - 2);
  CheckSplit(stream, settings, (mode & 4) != 0, seed);
  CheckPeek(stream, settings, seed);
  return 0;
}
