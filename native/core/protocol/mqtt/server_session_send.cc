// PUBLISH packets to the device, and the device's answers.
#include <algorithm>

#include "core/base/require.h"
#include "core/protocol/mqtt/encode.h"
#include "core/protocol/mqtt/server_session.h"

namespace seganet::mqtt {
namespace {

constexpr size_t kMaxRemainingLength = 268'435'455;  // 2.2.3

}  // namespace

size_t ServerSession::window() const {
  return std::min<size_t>(limits_.max_kept_commands, device_receive_maximum_);
}

bool ServerSession::Fits(const OutgoingPublish& publish) const {
  const size_t bytes = PublishBytes(protocol_level_, publish);
  if (bytes > kMaxRemainingLength) return false;
  // 5: [MQTT-3.1.2-24] Never larger than the Maximum Packet Size of the device.
  return FitsDevice(bytes);
}

SendResult ServerSession::SendPublish(uint64_t id, std::string_view topic,
                                      std::span<const uint8_t> payload, uint8_t qos) {
  if (!open()) return SendResult::kNoSubscription;
  if (CheckTopicName(topic, kMaxStringBytes + 1) != CloseReason::kNone) {
    return SendResult::kTooLarge;
  }
  const std::optional<Subscriptions::Match> match = state_.subscriptions.Find(topic);
  if (!match) return SendResult::kNoSubscription;
  OutgoingPublish publish;
  publish.topic = topic;
  publish.payload = {reinterpret_cast<const char*>(payload.data()), payload.size()};
  publish.subscription_identifiers = match->numbers;
  publish.packet_id = std::min(qos, match->qos) == 0 ? 0 : 1;  // any id has the same size
  if (!Fits(publish)) return SendResult::kTooLarge;

  const size_t waiting = output_.size() - output_sent_;
  const size_t bytes = PublishBytes(protocol_level_, publish);
  if (waiting != 0 && waiting + bytes > limits_.max_output_bytes) return SendResult::kWindowFull;
  if (publish.packet_id == 0) {
    AppendPublish(&output_, protocol_level_, publish);
    return SendResult::kDone;
  }
  Outgoing& outgoing = state_.outgoing;
  const size_t content = topic.size() + payload.size();
  const bool full =
      outgoing.size() >= window() || outgoing.unsent() > 0 ||
      (!outgoing.empty() && outgoing.content_bytes() + content > limits_.max_command_bytes);
  if (full) return SendResult::kWindowFull;
  const Outgoing::Item& item = outgoing.Add(id, topic, payload);
  publish.packet_id = item.packet_id;
  publish.dup = item.repeated;  // [MQTT-3.3.1-1]
  AppendPublish(&output_, protocol_level_, publish);
  return SendResult::kSent;
}

void ServerSession::SendPackets(std::string_view packets) {
  SEGANET_REQUIRE(output().empty());
  output_.append(packets);
  packets_bytes_ = packets.size();
}

// Sends packets that the device did not answer on an earlier connection, up to its Receive Maximum.
void ServerSession::SendWaiting() {
  Outgoing& outgoing = state_.outgoing;
  while (open() && outgoing.size() - outgoing.unsent() < device_receive_maximum_) {
    Outgoing::Item* const item = outgoing.FirstUnsent();
    if (item == nullptr) return;
    const auto match = state_.subscriptions.Find(item->topic);
    OutgoingPublish publish;
    publish.topic = item->topic;
    publish.payload = item->payload;
    if (match) publish.subscription_identifiers = match->numbers;
    publish.packet_id = item->packet_id;
    publish.dup = true;  // [MQTT-3.3.1-1]
    item->sent = true;
    if (Fits(publish)) {
      AppendPublish(&output_, protocol_level_, publish);
    } else {  // 5: [MQTT-3.1.2-25] Treated as if it had been sent.
      const uint64_t id = item->id;
      outgoing.Remove(item->packet_id);
      handler_->OnCommandAnswer(id, reason::kPacketTooLarge);
    }
  }
}

Fault ServerSession::OnPubackPacket(std::span<const uint8_t> body) {
  AnswerPacket packet;
  const Fault fault = ParsePuback(body, protocol_level_, &packet);
  if (fault) return fault;
  // An unknown identifier may be the second PUBACK for a PUBLISH that was sent twice.
  const std::optional<uint64_t> id = state_.outgoing.Remove(packet.packet_id);
  if (!id) return {};
  SendWaiting();
  handler_->OnCommandAnswer(*id, packet.code);
  return {};
}

// The server never sends QoS 2, so the identifier comes from an earlier server, or the client
// confuses QoS 1 and 2. Only the latter is a fault. 4.3.3: PUBREL answers a PUBREC and ends the
// exchange; 5: 3.6.2.1 its code reports an unknown identifier.
Fault ServerSession::OnPubrecPacket(std::span<const uint8_t> body) {
  AnswerPacket packet;
  const Fault fault = ParsePuback(body, protocol_level_, &packet);  // the codes are the same
  if (fault) return fault;
  if (state_.outgoing.Has(packet.packet_id)) return CloseReason::kProtocolError;
  if (packet.code >= reason::kUnspecified) return {};  // 5: 4.3.3 The exchange is over.
  AppendAnswer(&output_, PacketType::kPubrel, packet.packet_id,
               five() ? reason::kPacketIdNotFound : reason::kSuccess);
  return {};
}

// The answer to the PUBREL of OnPubrecPacket().
Fault ServerSession::OnPubcompPacket(std::span<const uint8_t> body) {
  AnswerPacket packet;
  const Fault fault = ParsePubrel(body, protocol_level_, &packet);  // the codes are the same
  if (fault) return fault;
  return state_.outgoing.Has(packet.packet_id) ? CloseReason::kProtocolError : CloseReason::kNone;
}

}  // namespace seganet::mqtt
