#include "core/protocol/mqtt/server_session.h"

#include <algorithm>

namespace seganet::mqtt {
namespace {

// Buffers up to this size stay with their session, so that a device whose small packets are often
// split does not allocate for each; larger ones are given back, so that 10,000 devices cost little.
constexpr size_t kKeptPartialBytes = 1024;
constexpr size_t kKeptOutputBytes = 4096;

constexpr char kSubscribeFailure = static_cast<char>(0x80);

}  // namespace

CloseReason ServerSession::Feed(std::span<const uint8_t> bytes) {
  if (close_reason_ != CloseReason::kNone) return close_reason_;
  CloseReason reason = CloseReason::kNone;
  if (!partial_.empty()) reason = FinishPartial(&bytes);
  while (reason == CloseReason::kNone && !bytes.empty()) {
    const Frame frame = FrameOf(bytes);
    reason = frame.reason;
    if (reason != CloseReason::kNone) break;
    if (frame.total == 0 || frame.total > bytes.size()) {
      Buffer(bytes, frame.total);
      break;
    }
    reason = OnPacket(frame.header, bytes.subspan(frame.header.size, frame.header.remaining));
    bytes = bytes.subspan(frame.total);
  }
  if (reason != CloseReason::kNone) {
    close_reason_ = reason;
    std::vector<uint8_t>().swap(partial_);
  }
  return reason;
}

bool ServerSession::AcknowledgeSlot(uint64_t slot) {
  if (close_reason_ != CloseReason::kNone) return false;
  return acks_.Acknowledge(slot, [this](uint16_t packet_id) { AppendPuback(&output_, packet_id); });
}

void ServerSession::ConsumeOutput(size_t n) {
  output_sent_ += n;
  if (output_sent_ == output_.size()) {
    output_.clear();
    output_sent_ = 0;
    if (output_.capacity() > kKeptOutputBytes) std::string().swap(output_);
  } else if (output_sent_ > output_.size() / 2) {
    // Moves each byte once at most on average, and keeps the string near what is unsent.
    output_.erase(0, output_sent_);
    output_sent_ = 0;
  }
}

size_t ServerSession::memory_bytes() const {
  return partial_.capacity() + output_.capacity() + acks_.memory_bytes() +
         (will_ ? sizeof(StoredWill) + will_->bytes.capacity() : 0);
}

// All that can be told before the packet is whole, in one order however the bytes were split.
ServerSession::Frame ServerSession::FrameOf(std::span<const uint8_t> bytes) const {
  Frame frame;
  const uint8_t first = bytes[0];
  if (connected_) {
    frame.reason = CheckFirstByte(first, protocol_level_);
  } else if (first >> 4 != static_cast<uint8_t>(PacketType::kConnect)) {
    frame.reason = CloseReason::kNotConnect;  // [MQTT-3.1.0-1]
  } else if ((first & 0x0F) != 0) {
    frame.reason = CloseReason::kBadFlags;  // [MQTT-2.2.2-2]
  }
  if (frame.reason != CloseReason::kNone) return frame;
  switch (DecodeFixedHeader(bytes, &frame.header)) {
    case HeaderStatus::kNeedMore:
      break;
    case HeaderStatus::kMalformed:
      frame.reason = CloseReason::kMalformed;
      break;
    case HeaderStatus::kOk:
      frame.total = frame.header.total();
      if (frame.total > limits_.max_packet_bytes) frame.reason = CloseReason::kTooLarge;
      break;
  }
  return frame;
}

// Completes the buffered packet from the front of `bytes` and takes no byte of the next one.
CloseReason ServerSession::FinishPartial(std::span<const uint8_t>* bytes) {
  for (;;) {
    const Frame frame = FrameOf(partial_);
    if (frame.reason != CloseReason::kNone) return frame.reason;
    if (frame.total == partial_.size()) {
      const CloseReason reason =
          OnPacket(frame.header, std::span<const uint8_t>(partial_).subspan(frame.header.size));
      partial_.clear();
      if (partial_.capacity() > kKeptPartialBytes) std::vector<uint8_t>().swap(partial_);
      return reason;
    }
    if (bytes->empty()) return CloseReason::kNone;
    const size_t wanted = frame.total == 0 ? 1 : frame.total - partial_.size();
    const size_t taken = std::min(wanted, bytes->size());
    Buffer(bytes->first(taken), frame.total);
    *bytes = bytes->subspan(taken);
  }
}

void ServerSession::Buffer(std::span<const uint8_t> bytes, size_t total) {
  const size_t size = partial_.size() + bytes.size();
  if (size > partial_.capacity()) {
    // Doubling keeps a drip-fed packet linear; the packet's own size is where it ends.
    const size_t doubled = std::max(size, 2 * partial_.capacity());
    partial_.reserve(total == 0 ? doubled : std::min(doubled, total));
  }
  partial_.insert(partial_.end(), bytes.begin(), bytes.end());
}

CloseReason ServerSession::OnPacket(const FixedHeader& header, std::span<const uint8_t> body) {
  switch (header.type) {
    case PacketType::kPublish:
      return OnPublishPacket(header.flags, body);
    case PacketType::kConnect:
      return OnConnectPacket(body);
    case PacketType::kSubscribe:
      return OnSubscribePacket(body);
    case PacketType::kUnsubscribe:
      return OnUnsubscribePacket(body);
    case PacketType::kPuback: {
      // Nothing is sent to devices with QoS 1 yet, so there is nothing to match it with.
      uint16_t packet_id = 0;
      return ParsePuback(body, &packet_id);
    }
    case PacketType::kPingreq:
      if (!body.empty()) return CloseReason::kMalformed;  // 3.12
      AppendPingresp(&output_);                           // [MQTT-3.12.4-1]
      return CloseReason::kNone;
    case PacketType::kDisconnect:
      if (!body.empty()) return CloseReason::kMalformed;  // 3.14
      will_.reset();                                      // [MQTT-3.14.4-3]
      handler_->OnDisconnect();
      return CloseReason::kDisconnected;
    default:
      return CloseReason::kMalformed;  // CheckFirstByte refused all others
  }
}

CloseReason ServerSession::OnConnectPacket(std::span<const uint8_t> body) {
  Connect connect;
  const CloseReason reason = ParseConnect(body, limits_.max_topic_levels, &connect);
  if (reason == CloseReason::kUnsupportedVersion) {
    output_.append(VersionRefusal(connect.protocol_level));  // [MQTT-3.1.2-2]
  }
  if (reason != CloseReason::kNone) return reason;  // [MQTT-3.1.4-1] without a CONNACK
  protocol_level_ = connect.protocol_level;
  keep_alive_s_ = connect.keep_alive_s;
  ConnectCode code = ConnectCode::kIdentifierRejected;
  // [MQTT-3.1.3-7], [MQTT-3.1.3-8] Without an identifier there can only be a clean session, and in
  // 3.1 not even that.
  const bool anonymous = connect.client_id.empty();
  if (!anonymous || (connect.clean_session && protocol_level_ != kLevel31)) {
    code = handler_->OnConnect(connect);
  }
  AppendConnack(&output_, code);                                     // [MQTT-3.1.4-4]
  if (code != ConnectCode::kAccepted) return CloseReason::kRefused;  // [MQTT-3.2.2-5]
  if (connect.will) KeepWill(*connect.will);
  connected_ = true;
  return CloseReason::kNone;
}

CloseReason ServerSession::OnPublishPacket(uint8_t flags, std::span<const uint8_t> body) {
  Publish publish;
  const CloseReason reason = ParsePublish(flags, body, limits_.max_topic_levels, &publish);
  if (reason != CloseReason::kNone) return reason;
  if (publish.qos != 0) {
    publish.slot = acks_.Push(publish.packet_id);
    if (publish.slot == 0) return CloseReason::kTooManyUnacknowledged;
  }
  handler_->OnPublish(publish);
  return CloseReason::kNone;
}

CloseReason ServerSession::OnSubscribePacket(std::span<const uint8_t> body) {
  uint16_t packet_id = 0;
  std::vector<Filter> filters;
  const CloseReason reason = ParseSubscribe(body, limits_.max_topic_levels,
                                            limits_.max_filters_per_packet, &packet_id, &filters);
  if (reason != CloseReason::kNone) return reason;
  // Collected before they are appended: the handler may add PUBACKs to the output meanwhile.
  std::string codes;
  for (const Filter& filter : filters) {
    const char granted = static_cast<char>(std::min<uint8_t>(filter.qos, 1));
    const bool allowed = handler_->OnSubscribe(filter);
    // 3.1 has no return code for a refusal: the client is told that it is subscribed.
    const bool failure = !allowed && protocol_level_ != kLevel31;
    codes.push_back(failure ? kSubscribeFailure : granted);
  }
  AppendSuback(&output_, packet_id, codes);  // [MQTT-3.8.4-2], [MQTT-3.8.4-5]
  return CloseReason::kNone;
}

CloseReason ServerSession::OnUnsubscribePacket(std::span<const uint8_t> body) {
  uint16_t packet_id = 0;
  std::vector<Filter> filters;
  const CloseReason reason = ParseUnsubscribe(body, limits_.max_topic_levels,
                                              limits_.max_filters_per_packet, &packet_id, &filters);
  if (reason != CloseReason::kNone) return reason;
  for (const Filter& filter : filters) handler_->OnUnsubscribe(filter);
  AppendUnsuback(&output_, packet_id);  // [MQTT-3.10.4-1], [MQTT-3.10.4-2] whatever it matched
  return CloseReason::kNone;
}

void ServerSession::KeepWill(const Will& will) {
  will_ = std::make_unique<StoredWill>();
  std::string& bytes = will_->bytes;
  bytes.reserve(will.topic.size() + will.payload.size());
  bytes.append(will.topic);
  bytes.append(will.payload.begin(), will.payload.end());
  const std::string_view topic = std::string_view(bytes).substr(0, will.topic.size());
  const auto* payload = reinterpret_cast<const uint8_t*>(bytes.data()) + topic.size();
  will_->view = {topic, {payload, will.payload.size()}, will.qos, will.retain};
}

}  // namespace seganet::mqtt
