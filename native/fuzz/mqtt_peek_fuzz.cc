// Runs PeekConnect on the first bytes of any connection. Checks that a result does not change with
// further bytes, and that a session with the same bytes agrees with it.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "core/protocol/mqtt/connect_peek.h"
#include "test/support/mqtt_recorder.h"

namespace {

using seganet::CloseReason;
using seganet::mqtt::ConnectPeek;
using seganet::mqtt::PeekConnect;
using Status = ConnectPeek::Status;

constexpr size_t kMaxBytes = 512;

void Check(bool good) {
  if (!good) std::abort();
}

void CheckSame(const ConnectPeek& one, const ConnectPeek& other) {
  Check(one.status == other.status && one.reason == other.reason);
  Check(one.client_id == other.client_id && one.clean_session == other.clean_session);
  Check(one.protocol_level == other.protocol_level && one.reason_code == other.reason_code);
  Check(one.user_name == other.user_name && one.password.has_value() == other.password.has_value());
}

void CheckSessionAgrees(const ConnectPeek& peek, std::span<const uint8_t> bytes) {
  seganet::mqtt::Limits limits;
  limits.max_packet_bytes = kMaxBytes;
  limits.max_topic_levels = 65536;
  limits.odd_topics = true;  // of a will, which the peek does not check
  seganet::mqtt_test::Recorder device(seganet::mqtt_test::Recorder::Ack::kAtOnce, limits);
  device.session.SetAssignedId("auto-1");
  const CloseReason reason = device.Feed(bytes);
  const bool greeted = device.log.starts_with("\nconnect [" + std::string(peek.client_id) + "]");
  if (peek.status == Status::kOk) {
    const bool refused = peek.client_id.empty() && reason == CloseReason::kRefused;
    Check(greeted || refused);
    return;
  }
  Check(device.log.empty());
  // The peek may refuse a version before the packet is whole; the session then still waits.
  Check(reason == peek.reason || reason == CloseReason::kNone);
  if (reason != CloseReason::kNone) Check(device.output == RefusalFor(peek));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  const ConnectPeek whole = PeekConnect(bytes, kMaxBytes);
  bool answered = false;
  for (size_t n = 0; n <= size && n <= kMaxBytes; ++n) {
    const ConnectPeek peek = PeekConnect(bytes.first(n), kMaxBytes);
    if (peek.status == Status::kNeedMore) {
      Check(!answered);
      continue;
    }
    answered = true;
    CheckSame(peek, whole);
  }
  Check(answered == (whole.status != Status::kNeedMore));
  CheckSessionAgrees(whole, bytes);
  return 0;
}
