// Any bytes from a device: nothing crashes, and neither events nor output depend on how the bytes
// were cut into reads. The last two bytes of an input choose how it is run, so that the inputs are
// streams as they are on the wire and the peek's fuzzer can share them.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/protocol/mqtt/server_session.h"
#include "test/mqtt_bytes.h"
#include "test/mqtt_recorder.h"

namespace {

using seganet::CloseReason;
using seganet::mqtt::Limits;
using seganet::mqtt_test::Recorder;

void Check(bool good) {
  if (!good) std::abort();
}

// [MQTT-4.6.0-2] The PUBACKs of the output are the identifiers that arrived, in their order.
void CheckPubackOrder(const Recorder& device, Recorder::Ack ack) {
  size_t acknowledged = 0;
  const std::string& out = device.output;
  const auto byte = [&out](size_t i) { return static_cast<uint8_t>(out.at(i)); };
  for (size_t at = 0; at < out.size();) {
    const bool long_header = byte(at + 1) >= 0x80;  // a SUBACK of many filters
    const size_t remaining =
        long_header ? (byte(at + 1) & 0x7F) + 128 * byte(at + 2) : byte(at + 1);
    if (byte(at) == 0x40) {
      Check(acknowledged < device.ids.size());
      Check(device.ids[acknowledged++] == (byte(at + 2) << 8 | byte(at + 3)));
    }
    at += (long_header ? 3 : 2) + remaining;
    Check(at <= out.size());
  }
  if (ack == Recorder::Ack::kAtOnce) Check(acknowledged == device.ids.size());
}

void Run(std::string_view stream, Recorder::Ack ack, const Limits& limits, uint32_t seed) {
  Recorder whole(ack, limits);
  const CloseReason reason = whole.Feed(stream);
  Check(whole.session.buffered_bytes() <= limits.max_packet_bytes);
  CheckPubackOrder(whole, ack);

  Recorder split(ack, limits);
  CloseReason split_reason = CloseReason::kNone;
  for (size_t at = 0; at < stream.size();) {
    seed = seed * 1664525 + 1013904223;
    const size_t size = std::min<size_t>(1 + (seed >> 24) % 23, stream.size() - at);
    split_reason = split.Feed(stream.substr(at, size));
    at += size;
    Check(split.session.buffered_bytes() <= std::min(limits.max_packet_bytes, 2 * at));
  }
  Check(split_reason == reason);
  Check(split.log == whole.log);
  Check(split.output == whole.output);
  Check(split.session.unacknowledged() == whole.session.unacknowledged());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const uint8_t mode = data[size - 1];
  Limits limits;
  if ((mode & 4) != 0) {
    limits.max_packet_bytes = 64;
    limits.max_topic_levels = 3;
    limits.max_filters_per_packet = 2;
  }
  std::string stream;
  if ((mode & 1) != 0) stream = seganet::mqtt_test::ConnectPacket();
  stream.append(reinterpret_cast<const char*>(data), size - 2);
  Run(stream, (mode & 2) != 0 ? Recorder::Ack::kLate : Recorder::Ack::kAtOnce, limits,
      data[size - 2]);
  return 0;
}
