// Packets from a connected device.
#include <algorithm>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/require.h"
#include "core/protocol/mqtt/content_hash.h"
#include "core/protocol/mqtt/encode.h"
#include "core/protocol/mqtt/server_session.h"
#include "core/record/odd_topic.h"

namespace seganet::mqtt {
namespace {

constexpr char kSubscribeFailure = static_cast<char>(0x80);

}  // namespace

Fault ServerSession::OnPacket(const FixedHeader& header, std::span<const uint8_t> body) {
  switch (header.type) {
    case PacketType::kPublish:
      return OnPublishPacket(header.flags, body);
    case PacketType::kConnect:
      return OnConnectPacket(header, body);
    case PacketType::kPuback:
      return OnPubackPacket(body);
    case PacketType::kPubrec:
      return OnPubrecPacket(body);
    case PacketType::kPubcomp:
      return OnPubcompPacket(body);
    case PacketType::kPubrel:
      return OnPubrelPacket(body);
    case PacketType::kSubscribe:
      handler_->OnControl();
      return OnSubscribePacket(body);
    case PacketType::kUnsubscribe:
      handler_->OnControl();
      return OnUnsubscribePacket(body);
    case PacketType::kPingreq:
      if (!body.empty()) return CloseReason::kMalformed;  // 3.12
      handler_->OnControl();
      AppendPingresp(&output_);  // [MQTT-3.12.4-1]
      return {};
    case PacketType::kDisconnect:
      return OnDisconnectPacket(body);
    default:
      return CloseReason::kMalformed;  // unreachable: CheckFirstByte() refused all others
  }
}

Fault ServerSession::OnPublishPacket(uint8_t flags, std::span<const uint8_t> body) {
  Publish publish;
  // 5: too many levels are refused below.
  const size_t max_levels = five() ? kMaxStringBytes + 1 : limits_.max_topic_levels;
  const Fault fault = ParsePublish(flags, body, protocol_level_, max_levels, &publish);
  if (fault) return fault;
  uint8_t refusal = reason::kSuccess;
  if (!publish.properties.empty()) {
    const std::optional<uint32_t> alias = publish.properties.Number(Property::kTopicAlias);
    if (alias) {
      const Fault bad = aliases_.Resolve(*alias, limits_.topic_alias_maximum,
                                         limits_.max_alias_bytes, &publish.topic);
      if (bad) return bad;
    }
    if (publish.payload_utf8() && !ValidUtf8Payload(TextOf(publish.payload))) {
      refusal = reason::kPayloadFormatInvalid;
    }
  }
  if (!limits_.odd_topics && IsOddTopic(publish.topic)) {
    // 3.x has no way to refuse a single PUBLISH.
    if (!five()) return CloseReason::kBadTopic;
    refusal = reason::kTopicNameInvalid;
  }
  // 5: 3.4.2.1 The name is well-formed, but not accepted.
  const auto separators = static_cast<size_t>(std::ranges::count(publish.topic, '/'));
  if (five() && separators >= limits_.max_topic_levels) refusal = reason::kTopicNameInvalid;
  if (publish.qos != 0) return OnPublishToAnswer(&publish, refusal);
  if (refusal == reason::kSuccess) {
    handler_->OnPublish(publish);
    return {};
  }
  // 5: 3.3.2.3.2 QoS 0 has no answer to carry the code, so the connection is closed with it.
  if (refusal == reason::kPayloadFormatInvalid) return {CloseReason::kBadUtf8, refusal};
  handler_->OnRefusedPublish(refusal);
  return {};
}

// QoS 1 and 2.
Fault ServerSession::OnPublishToAnswer(Publish* publish, uint8_t refusal) {
  if (publish->qos == 2) {
    uint32_t hash = 0;
    if (state_.expiry_s != 0) {
      hash = std::max(1u, ContentHash(publish->topic, TextOf(publish->payload)));
      state_.incoming.Check(publish->packet_id, hash);
    }
    const Incoming::State state = state_.incoming.Find(publish->packet_id);
    if (state != Incoming::State::kUnknown) handler_->OnControl();
    if (state == Incoming::State::kWaiting || state == Incoming::State::kSafe) {
      return {};  // its PUBREC is pending
    }
    if (!TakeQuota()) return CloseReason::kReceiveMaximum;
    if (state == Incoming::State::kReceived) {  // [MQTT-4.3.3-2] Already reported.
      AppendAnswer(&output_, PacketType::kPubrec, publish->packet_id, reason::kSuccess);
      return {};
    }
    if (state == Incoming::State::kLate) return AwaitLate(publish->packet_id);
    // 3.x has no Receive Maximum, but the kept identifiers need a bound.
    if (!five() && state_.incoming.size() >= limits_.receive_maximum) {
      return CloseReason::kReceiveMaximum;
    }
    state_.incoming.Add(publish->packet_id, hash);
  } else if (!TakeQuota()) {
    return CloseReason::kReceiveMaximum;
  }
  publish->handle = acks_.Push(publish->packet_id, publish->qos);
  if (publish->handle == 0) return CloseReason::kTooManyUnacknowledged;
  if (refusal == reason::kSuccess) {
    handler_->OnPublish(*publish);
  } else {
    RefusePublish(publish->handle, refusal);
    handler_->OnRefusedPublish(refusal);
  }
  return {};
}

// A repetition whose record is already on its way: its PUBREC waits for that record, in its turn
// [MQTT-4.6.0-3].
Fault ServerSession::AwaitLate(uint16_t packet_id) {
  const uint64_t handle = acks_.Push(packet_id, 2);
  if (handle == 0) return CloseReason::kTooManyUnacknowledged;
  state_.incoming.Set(packet_id, Incoming::State::kWaiting);
  late_[packet_id] = handle;
  return {};
}

Fault ServerSession::OnPubrelPacket(std::span<const uint8_t> body) {
  AnswerPacket packet;
  const Fault fault = ParsePubrel(body, protocol_level_, &packet);
  if (fault) return fault;
  uint8_t code = reason::kSuccess;
  switch (state_.incoming.Find(packet.packet_id)) {
    case Incoming::State::kReceived:
      state_.incoming.Remove(packet.packet_id);
      GiveQuotaBack();
      break;
    case Incoming::State::kWaiting:  // [MQTT-4.3.3-1] Not before the PUBREC.
    case Incoming::State::kSafe:
    case Incoming::State::kLate:
      return CloseReason::kProtocolError;
    case Incoming::State::kUnknown:  // already released, but the PUBCOMP was lost
      handler_->OnControl();
      if (five()) code = reason::kPacketIdNotFound;
      break;
  }
  AppendAnswer(&output_, PacketType::kPubcomp, packet.packet_id, code);  // [MQTT-4.3.3-2]
  return {};
}

Fault ServerSession::OnSubscribePacket(std::span<const uint8_t> body) {
  FilterPacket packet;
  const Fault fault = ParseSubscribe(body, protocol_level_, limits_.max_topic_levels,
                                     limits_.max_filters_per_packet, &packet);
  if (fault) return fault;
  // Collected before the SUBACK is appended, because the handler may append PUBACKs to the output.
  std::string codes;
  const size_t before = state_.subscriptions.size();
  const uint64_t changes = state_.subscriptions.changes();
  for (const Filter& filter : packet.filters) {
    codes.push_back(SubscribeCode(filter, packet.subscription_identifier));
  }
  if (open()) handler_->OnFilters();
  if (!open()) return {};  // the handler closed it
  // [MQTT-3.8.4-2], [MQTT-3.8.4-5]
  std::string suback;
  AppendSuback(&suback, protocol_level_, packet.packet_id, codes);
  if (!FitsDevice(suback.size())) return CloseReason::kTooLarge;  // 5: [MQTT-3.1.2-24]
  AnswerFilters(std::move(suback), state_.subscriptions.changes() != changes);
  if (state_.subscriptions.size() > before) handler_->OnSubscribed();
  return {};
}

char ServerSession::SubscribeCode(const Filter& filter, uint32_t number) {
  uint8_t granted = std::min<uint8_t>(filter.qos, 1);
  uint8_t refused = reason::kSuccess;
  if (filter.filter.starts_with(kSharedPrefix)) {
    refused = reason::kSharedNotSupported;
  } else {
    const Grant grant = handler_->OnSubscribe(filter);
    if (grant == Grant::kRecords) granted = 0;
    if (grant == Grant::kNotAllowed) {
      refused = reason::kNotAuthorized;
    } else if (grant == Grant::kNoRoom ||
               !state_.subscriptions.Add(filter.filter, granted, number, limits_.max_subscriptions,
                                         limits_.max_subscription_bytes,
                                         {filter.no_local, filter.retain_as_published})) {
      refused = reason::kQuotaExceeded;
    }
  }
  if (refused == reason::kSuccess) return static_cast<char>(granted);
  if (five()) return static_cast<char>(refused);
  // 3.1 has no return code for a refusal, so the SUBACK reports success.
  return protocol_level_ == kLevel31 ? static_cast<char>(granted) : kSubscribeFailure;
}

Fault ServerSession::OnUnsubscribePacket(std::span<const uint8_t> body) {
  FilterPacket packet;
  const Fault fault = ParseUnsubscribe(body, protocol_level_, limits_.max_topic_levels,
                                       limits_.max_filters_per_packet, &packet);
  if (fault) return fault;
  std::string codes;
  const uint64_t changes = state_.subscriptions.changes();
  for (const Filter& filter : packet.filters) {
    const bool existed = state_.subscriptions.Remove(filter.filter);
    codes.push_back(static_cast<char>(existed ? reason::kSuccess : reason::kNoSubscriptionExisted));
    handler_->OnUnsubscribe(filter);
  }
  if (open()) handler_->OnFilters();
  if (!open()) return {};
  // [MQTT-3.10.4-1], [MQTT-3.10.4-2] An UNSUBACK follows even if no filter matched.
  std::string unsuback;
  AppendUnsuback(&unsuback, protocol_level_, packet.packet_id, codes);
  if (!FitsDevice(unsuback.size())) return CloseReason::kTooLarge;  // 5: [MQTT-3.1.2-24]
  AnswerFilters(std::move(unsuback), state_.subscriptions.changes() != changes);
  return {};
}

// A SUBACK or UNSUBACK. It waits until the session is on disk, so that a subscription that the
// device knows to exist survives a crash. 3.8.4 A subscription is in force before its SUBACK.
void ServerSession::AnswerFilters(std::string answer, bool changed) {
  if (changed && state_.expiry_s != 0) state_.ticket = handler_->OnSessionChanged();
  const uint64_t ticket = state_.ticket;
  if (ticket == 0 || handler_->IsSaved(ticket)) {
    output_.append(answer);
  } else {
    unsaved_answers_.push_back({ticket, std::move(answer)});
  }
}

void ServerSession::Saved(uint64_t ticket) {
  while (!unsaved_answers_.empty() && unsaved_answers_.front().ticket <= ticket) {
    if (open()) output_.append(unsaved_answers_.front().packet);
    unsaved_answers_.pop_front();
  }
}

void ServerSession::ForgetTicket() {
  SEGANET_REQUIRE(unsaved_answers_.empty());
  state_.ticket = 0;
}

}  // namespace seganet::mqtt
