#include "core/protocol/mqtt/server_session.h"

#include <algorithm>

#include "core/base/require.h"
#include "core/protocol/mqtt/encode.h"

namespace seganet::mqtt {
namespace {

// Sessions keep buffers up to this size, so that small split packets do not allocate each time.
// Larger buffers are freed, so that 10,000 devices cost little.
constexpr size_t kKeptPartialBytes = 1024;
constexpr size_t kKeptOutputBytes = 1024;

}  // namespace

CloseReason ServerSession::Feed(std::span<const uint8_t> bytes) {
  if (close_reason_ != CloseReason::kNone) return close_reason_;
  Fault fault;
  if (!partial_.empty()) fault = FinishPartial(&bytes);
  // The owner may call Disconnect() inside of OnPacket().
  while (!fault && close_reason_ == CloseReason::kNone && !bytes.empty()) {
    const Frame frame = FrameOf(bytes);
    fault = frame.fault;
    if (fault) break;
    if (frame.total == 0 || frame.total > bytes.size()) {
      Buffer(bytes, frame.total);
      break;
    }
    fault = OnPacket(frame.header, bytes.subspan(frame.header.size, frame.header.remaining));
    bytes = bytes.subspan(frame.total);
  }
  if (fault) Close(fault);
  if (close_reason_ != CloseReason::kNone) std::vector<uint8_t>().swap(partial_);
  return close_reason_;
}

void ServerSession::Close(const Fault& fault, std::string_view server_reference) {
  if (close_reason_ != CloseReason::kNone) return;
  close_reason_ = fault.reason;
  // 5: [MQTT-3.14.0-1] Not before the CONNACK. In 3.x a server sends no DISCONNECT.
  if (connected_ && five() && fault.code != reason::kSuccess) {
    AppendDisconnect5(&output_, fault.code, server_reference);
  }
}

void ServerSession::Disconnect(uint8_t code, std::string_view server_reference) {
  Close({CloseReason::kDisconnected, code}, server_reference);
}

void ServerSession::SetAssignedId(std::string id) {
  SEGANET_REQUIRE(!connected_ && partial_.empty() && close_reason_ == CloseReason::kNone);
  assigned_id_ = std::move(id);
}

bool ServerSession::AcknowledgePublish(uint64_t handle) {
  if (close_reason_ != CloseReason::kNone) return false;
  return acks_.Acknowledge(
      handle, [this](const AckQueue::Released& one) { Release(one); },
      [this](const AckQueue::Released& one) {
        if (one.qos == 2) state_.incoming.Set(one.packet_id, Incoming::State::kSafe);
      });
}

bool ServerSession::RefusePublish(uint64_t handle, uint8_t code) {
  SEGANET_REQUIRE(code >= reason::kUnspecified);
  if (close_reason_ != CloseReason::kNone) return false;
  return acks_.Refuse(handle, code, [this](const AckQueue::Released& one) { Release(one); });
}

bool ServerSession::FailPublish(uint64_t handle) {
  if (!five()) return false;
  RefusePublish(handle, reason::kImplementationSpecific);
  return true;
}

void ServerSession::GiveUpPublish(uint64_t handle, uint8_t code) {
  acks_.GiveUp(handle, reason::kUnspecified);
  Disconnect(code);
}

bool ServerSession::EndLate(const LatePublish& late, LateEnd end) {
  const auto at = late_.find(late.packet_id);
  if (at == late_.end()) {
    state_.incoming.EndLate(late.packet_id, late.hash, end == LateEnd::kSafe);
    return true;
  }
  // The device has begun a new exchange with this identifier meanwhile.
  if (state_.incoming.hash(late.packet_id) != late.hash) return true;
  const uint64_t handle = at->second;
  late_.erase(at);
  if (end == LateEnd::kSafe) {
    AcknowledgePublish(handle);
    return true;
  }
  if (end == LateEnd::kRefused && FailPublish(handle)) return true;
  GiveUpPublish(handle, reason::kAdministrative);
  return false;
}

void ServerSession::Release(const AckQueue::Released& one) {
  // 3.x has no refusal.
  const uint8_t code = five() ? one.code : reason::kSuccess;
  if (one.qos == 1) {
    AppendAnswer(&output_, PacketType::kPuback, one.packet_id, code);
    GiveQuotaBack();
    return;
  }
  AppendAnswer(&output_, PacketType::kPubrec, one.packet_id, code);
  if (code == reason::kSuccess) {
    state_.incoming.Set(one.packet_id, Incoming::State::kReceived);
  } else {  // 5: 4.3.3 A refused identifier is free again: no PUBREL follows.
    state_.incoming.Remove(one.packet_id);
    GiveQuotaBack();
  }
}

void ServerSession::ConsumeOutput(size_t n) {
  SEGANET_REQUIRE(n <= output().size());
  output_sent_ += n;
  if (output_sent_ == output_.size()) {
    output_.clear();
    output_sent_ = 0;
    packets_bytes_ = 0;
    if (output_.capacity() > kKeptOutputBytes) std::string().swap(output_);
  } else if (output_sent_ > output_.size() / 2) {
    // Moves each byte at most once on average, and keeps the string close to the unsent size.
    output_.erase(0, output_sent_);
    output_sent_ = 0;
  }
}

size_t ServerSession::memory_bytes() const {
  // About what a node of the map takes.
  size_t unsaved = late_.size() * 48;
  for (const UnsavedAnswer& one : unsaved_answers_) unsaved += sizeof(one) + one.packet.capacity();
  return unsaved + partial_.capacity() + output_.capacity() + acks_.memory_bytes() +
         state_.memory_bytes() - sizeof(state_) + aliases_.memory_bytes() +
         assigned_id_.capacity() + (will_ ? sizeof(StoredWill) + will_->bytes.capacity() : 0);
}

// Checks what is known before the packet is complete. The order of the checks does not depend on
// how the bytes were split.
ServerSession::Frame ServerSession::FrameOf(std::span<const uint8_t> bytes) const {
  Frame frame;
  const uint8_t first = bytes[0];
  if (connected_) {
    frame.fault = CheckFirstByte(first, protocol_level_);
  } else if (first >> 4 != static_cast<uint8_t>(PacketType::kConnect)) {
    frame.fault = CloseReason::kNotConnect;  // [MQTT-3.1.0-1]
  }
  if (frame.fault) return frame;
  switch (DecodeFixedHeader(bytes, &frame.header)) {
    case HeaderStatus::kNeedMore:
      break;
    case HeaderStatus::kMalformed:
      frame.fault = CloseReason::kMalformed;
      break;
    case HeaderStatus::kOk:
      frame.total = frame.header.total();
      if (five() && !ShortestLength(frame.header)) {
        frame.fault = CloseReason::kMalformed;
      } else if (frame.total > limits_.max_packet_bytes) {
        frame.fault = CloseReason::kTooLarge;
      }
      break;
  }
  return frame;
}

// Completes the buffered packet from the front of `bytes` without taking bytes of the next packet.
Fault ServerSession::FinishPartial(std::span<const uint8_t>* bytes) {
  for (;;) {
    const Frame frame = FrameOf(partial_);
    if (frame.fault) return frame.fault;
    if (frame.total == partial_.size()) {
      const Fault fault =
          OnPacket(frame.header, std::span<const uint8_t>(partial_).subspan(frame.header.size));
      partial_.clear();
      if (partial_.capacity() > kKeptPartialBytes) std::vector<uint8_t>().swap(partial_);
      return fault;
    }
    if (bytes->empty()) return {};
    const size_t wanted = frame.total == 0 ? 1 : frame.total - partial_.size();
    const size_t taken = std::min(wanted, bytes->size());
    Buffer(bytes->first(taken), frame.total);
    *bytes = bytes->subspan(taken);
  }
}

void ServerSession::Buffer(std::span<const uint8_t> bytes, size_t total) {
  const size_t size = partial_.size() + bytes.size();
  if (size > partial_.capacity()) {
    // Doubling makes the cost of a slowly arriving packet linear; its size is the upper limit.
    const size_t doubled = std::max(size, 2 * partial_.capacity());
    partial_.reserve(total == 0 ? doubled : std::min(doubled, total));
  }
  partial_.insert(partial_.end(), bytes.begin(), bytes.end());
}

}  // namespace seganet::mqtt
