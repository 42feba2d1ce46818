// Runs a session with any bytes from a device while commands are sent to it. Checks that neither
// events nor output depend on how the bytes were split into reads. A second connection with the
// same bytes then resumes the kept session, and the records of the first one end. The last two
// bytes of an input select the mode, so that the rest is a plain MQTT stream and mqtt_peek_fuzz can
// share the inputs.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/protocol/mqtt/server_session.h"
#include "test/support/mqtt_bytes.h"
#include "test/support/mqtt_recorder.h"

namespace {

using seganet::CloseReason;
using seganet::mqtt::Connect;
using seganet::mqtt::ConnectCode;
using seganet::mqtt::KeptSession;
using seganet::mqtt::LateEnd;
using seganet::mqtt::LatePublish;
using seganet::mqtt::Limits;
using seganet::mqtt::Publish;
using seganet::mqtt_test::Recorder;

enum Mode : uint8_t { kConnected = 1, kLate = 2, kSmall = 4, kFive = 8, kRefuses = 16 };

void Check(bool good) {
  if (!good) std::abort();
}

// Sends a command for each event after which one may be sent; the events determine its content.
class Device : public Recorder {
 public:
  Device(uint8_t mode, const Limits& limits)
      : Recorder((mode & kLate) != 0 ? Ack::kLate : Ack::kAtOnce, limits), mode_(mode) {
    session.SetAssignedId("auto-1");
  }

  ConnectCode OnConnect(const Connect& connect,
                        std::unique_ptr<KeptSession>* kept_session) override {
    maximum_packet = connect.maximum_packet;
    return Recorder::OnConnect(connect, kept_session);
  }

  void OnPublish(const Publish& publish) override {
    if (publish.qos == 1) qos1_ids.push_back(publish.packet_id);
    log += publish.UserProperty("k").value_or("");
    log += publish.content_type().value_or("");
    const size_t waiting = session.unacknowledged();
    if ((mode_ & kRefuses) != 0 && publish.payload.size() % 3 == 0) {
      session.RefusePublish(publish.handle, 0x87);
    }
    Check(session.unacknowledged() <= waiting);
    Recorder::OnPublish(publish);
    Command(publish.topic, publish.payload.size());
  }

  void OnSubscribed() override {
    Recorder::OnSubscribed();
    for (const char* topic : {"cmd/a", "x", "a/b"}) Command(topic, 5);
  }

  uint32_t maximum_packet = 0;
  std::vector<uint16_t> qos1_ids;

 private:
  void Command(std::string_view topic, size_t size) {
    const std::vector<uint8_t> payload(size, 'c');
    ++commands_;
    const auto result = session.SendPublish(commands_, topic, payload, commands_ % 4 == 0 ? 0 : 1);
    log += "\nsend " + std::to_string(static_cast<int>(result));
  }

  const uint8_t mode_;
  uint64_t commands_ = 0;
};

// Checks that the output consists of whole packets that a server may send. [MQTT-4.6.0-2] The
// PUBACKs have the identifiers that arrived, in order, except those for a payload or topic that the
// session refused itself.
void CheckOutput(const Device& device, uint8_t mode) {
  static constexpr std::string_view kFirstBytes("\x20\x30\x32\x3A\x40\x50\x62\x70\x90\xB0\xD0\xE0");
  size_t acknowledged = 0;
  const std::string& out = device.output;
  const auto byte = [&out](size_t i) { return static_cast<uint8_t>(out.at(i)); };
  for (size_t at = 0; at < out.size();) {
    Check(kFirstBytes.find(out[at]) != std::string_view::npos);
    size_t remaining = 0;
    size_t header = 1;
    for (unsigned shift = 0;; shift += 7) {
      Check(shift <= 21);
      remaining |= static_cast<size_t>(byte(at + header) & 0x7F) << shift;
      if ((byte(at + header++) & 0x80) == 0) break;
    }
    const bool publish = byte(at) >> 4 == 3;
    if (publish && device.maximum_packet != 0) Check(header + remaining <= device.maximum_packet);
    const bool unseen = remaining == 3 && (byte(at + 4) == 0x90 || byte(at + 4) == 0x99);
    if (byte(at) == 0x40 && !unseen) {
      Check(acknowledged < device.qos1_ids.size());
      Check(device.qos1_ids[acknowledged++] == (byte(at + 2) << 8 | byte(at + 3)));
    }
    at += header + remaining;
    Check(at <= out.size());
  }
  if ((mode & kLate) == 0) Check(acknowledged == device.qos1_ids.size());
}

void CheckBounds(const Device& device, const Limits& limits) {
  Check(device.session.buffered_bytes() <= limits.max_packet_bytes);
  Check(device.session.Unanswered().size() <= limits.max_kept_commands);
}

void Run(std::string_view stream, uint8_t mode, const Limits& limits, uint32_t seed) {
  Device whole(mode, limits);
  const CloseReason reason = whole.Feed(stream);
  CheckBounds(whole, limits);
  CheckOutput(whole, mode);

  Device split(mode, limits);
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

  std::vector<LatePublish> late;
  std::unique_ptr<KeptSession> kept = whole.session.Keep(&late);
  if (kept == nullptr) return Check(late.empty());
  Check(kept->expiry_s != 0 && kept->memory_bytes() >= sizeof(KeptSession));
  Check(late.size() <= kept->incoming.size());
  Device next(mode, limits);
  next.kept = std::move(kept);
  Check(next.Feed(stream) != CloseReason::kNotConnect);
  for (const LatePublish& one : late) {
    Check(one.missing > 0 && one.hash != 0);
    seed = seed * 1664525 + 1013904223;
    const bool goes_on = next.session.EndLate(one, static_cast<LateEnd>((seed >> 24) % 3));
    Check(goes_on || next.session.close_reason() != CloseReason::kNone);
    next.Acknowledge(0);  // collects the output
  }
  CheckBounds(next, limits);
  CheckOutput(next, mode);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const uint8_t mode = data[size - 1];
  Limits limits;
  if ((mode & kSmall) != 0) {
    limits.max_packet_bytes = 64;
    limits.max_topic_levels = 3;
    limits.max_filters_per_packet = 2;
    limits.receive_maximum = 2;
    limits.topic_alias_maximum = 2;
    limits.max_alias_bytes = 6;
    limits.server_keep_alive_s = 10;
    limits.session_expiry_max_s = 5;
    limits.max_subscriptions = 2;
    limits.max_subscription_bytes = 8;
    limits.max_kept_commands = 2;
    limits.max_command_bytes = 16;
  }
  std::string stream;
  // Sessions that are kept: not clean, or with an expiry.
  if ((mode & kFive) != 0) {
    stream = seganet::mqtt_test::Connect5(std::string_view("\x11\x00\x00\x00\x0A", 5), 0x00);
  } else if ((mode & kConnected) != 0) {
    seganet::mqtt_test::ConnectFields fields;
    fields.flags = 0x00;
    stream = seganet::mqtt_test::ConnectPacket(fields);
  }
  stream.append(reinterpret_cast<const char*>(data), size - 2);
  Run(stream, mode, limits, data[size - 2]);
  return 0;
}
