// The beginning and the end of a connection: CONNECT, DISCONNECT, and the session state to keep.
#include <algorithm>

#include "core/protocol/mqtt/encode.h"
#include "core/protocol/mqtt/server_session.h"
#include "core/record/odd_topic.h"

namespace seganet::mqtt {

Fault ServerSession::OnConnectPacket(const FixedHeader& header, std::span<const uint8_t> body) {
  Connect connect;
  Fault fault = ParseConnect(body, limits_.max_topic_levels, &connect);
  // [MQTT-2.2.2-2]; 3.1 does not use these bits. No answer, as for an incomplete packet.
  if (header.flags != 0 && connect.protocol_level != kLevel31) return CloseReason::kBadFlags;
  if (!fault && connect.will && !limits_.odd_topics && IsOddTopic(connect.will->topic)) {
    fault = CloseReason::kBadTopic;
  }
  if (connect.protocol_level == kLevel5 && !ShortestLength(header)) fault = CloseReason::kMalformed;
  if (fault) {
    output_.append(ConnectRefusal(connect.protocol_level, fault));
    return fault;
  }
  protocol_level_ = connect.protocol_level;
  keep_alive_s_ = connect.keep_alive_s;
  // 5: [MQTT-3.2.2-21] The server's keep-alive replaces the device's. 3.x cannot announce it.
  const uint16_t most = limits_.server_keep_alive_s;
  if (five() && most != 0 && (keep_alive_s_ == 0 || keep_alive_s_ > most)) keep_alive_s_ = most;

  if (five()) {
    device_maximum_packet_ = connect.maximum_packet;
    // 5: [MQTT-3.1.2-24] A CONNACK that is too large must not be sent, and a connection needs one.
    std::string connack;
    AppendConnack5(&connack, false, reason::kSuccess, ConnackProperties(connect));
    if (!FitsDevice(connack.size())) return CloseReason::kTooLarge;
  }

  ConnectCode code = ConnectCode::kIdentifierRejected;
  std::unique_ptr<KeptSession> kept;
  if (MayConnect(connect)) code = handler_->OnConnect(connect, &kept);
  if (code != ConnectCode::kAccepted) {
    output_.append(LoginRefusal(protocol_level_, code));
    return CloseReason::kRefused;  // [MQTT-3.2.2-5]
  }
  Accept(connect, std::move(kept));
  return {};
}

// [MQTT-3.1.3-7], [MQTT-3.1.3-8] A device without an identifier may only have a clean session;
// in 3.1 it may not connect. 5: [MQTT-3.1.3-6] The server assigns an identifier in any case, and
// announces it [MQTT-3.2.2-16].
bool ServerSession::MayConnect(const Connect& connect) const {
  if (!connect.client_id.empty()) return true;
  if (five()) return !assigned_id_.empty();
  return connect.clean_session && protocol_level_ != kLevel31;
}

void ServerSession::Accept(const Connect& connect, std::unique_ptr<KeptSession> kept) {
  // [MQTT-3.1.2-6], 5: [MQTT-3.1.2-4] A clean session discards an earlier one.
  if (connect.clean_session) kept.reset();
  const bool present = kept != nullptr;
  if (present) state_ = std::move(*kept);
  if (five()) {
    state_.expiry_s = ExpiryFor(connect);
    may_expire_later_ = connect.session_expiry_s != 0;
    device_receive_maximum_ = connect.receive_maximum;
    AppendConnack5(&output_, present, reason::kSuccess, ConnackProperties(connect));
  } else {
    state_.expiry_s = connect.clean_session ? 0 : limits_.session_expiry_max_s;
    // [MQTT-3.2.2-2], [MQTT-3.2.2-3]; the bit is reserved in 3.1.
    AppendConnack(&output_, present && protocol_level_ != kLevel31, ConnectCode::kAccepted);
  }
  if (connect.will) KeepWill(*connect.will);
  connected_ = true;
  state_.outgoing.Restart();
  SendWaiting();  // [MQTT-4.4.0-1]
  if (open() && !state_.subscriptions.empty()) handler_->OnSubscribed();
}

uint32_t ServerSession::ExpiryFor(const Connect& connect) const {
  return std::min(connect.session_expiry_s, limits_.session_expiry_max_s);
}

// 5: 3.2.2.3. Omitted properties have their defaults: QoS 2, retained messages, wildcards and
// subscription identifiers are available.
std::string ServerSession::ConnackProperties(const Connect& connect) const {
  std::string all;
  const uint32_t expiry_s = ExpiryFor(connect);
  if (expiry_s != connect.session_expiry_s) {
    AppendProperty(&all, Property::kSessionExpiry, expiry_s);
  }
  AppendProperty(&all, Property::kReceiveMaximum, limits_.receive_maximum);
  AppendProperty(&all, Property::kMaximumPacketSize,
                 static_cast<uint32_t>(std::min<size_t>(limits_.max_packet_bytes, 0xFFFFFFFF)));
  AppendProperty(&all, Property::kTopicAliasMaximum, limits_.topic_alias_maximum);
  AppendProperty(&all, Property::kSharedSubscriptionAvailable, uint8_t{0});
  if (connect.client_id.empty()) {
    AppendProperty(&all, Property::kAssignedClientIdentifier, std::string_view(assigned_id_));
  }
  if (keep_alive_s_ != connect.keep_alive_s) {
    AppendProperty(&all, Property::kServerKeepAlive, keep_alive_s_);
  }
  return all;
}

void ServerSession::KeepWill(const Will& will) {
  will_ = std::make_unique<StoredWill>();
  std::string& bytes = will_->bytes;
  const std::string_view properties = will.properties.bytes();
  bytes.reserve(will.topic.size() + properties.size() + will.payload.size());
  bytes.append(will.topic).append(properties);
  bytes.append(will.payload.begin(), will.payload.end());
  const std::string_view all = bytes;
  const auto* payload =
      reinterpret_cast<const uint8_t*>(bytes.data()) + will.topic.size() + properties.size();
  will_->view = {all.substr(0, will.topic.size()),
                 {payload, will.payload.size()},
                 CheckedProperties(all.substr(will.topic.size(), properties.size())),
                 will.qos,
                 will.retain};
}

uint32_t ServerSession::will_delay_s() const {
  if (!will_) return 0;
  const uint32_t delay = will_->view.properties.Number(Property::kWillDelay).value_or(0);
  return std::min(delay, state_.expiry_s);
}

Fault ServerSession::OnDisconnectPacket(std::span<const uint8_t> body) {
  DisconnectPacket packet;
  const Fault fault = ParseDisconnect(body, protocol_level_, &packet);
  if (fault) return fault;
  if (packet.session_expiry_s) {
    // 5: 3.14.2.2.2 An expiry of 0 in the CONNECT cannot be raised in the DISCONNECT.
    if (*packet.session_expiry_s != 0 && !may_expire_later_) return CloseReason::kProtocolError;
    state_.expiry_s = std::min(*packet.session_expiry_s, limits_.session_expiry_max_s);
  }
  if (packet.code == reason::kSuccess) will_.reset();  // [MQTT-3.14.4-3]
  handler_->OnDisconnect();
  return CloseReason::kDisconnected;
}

std::unique_ptr<KeptSession> ServerSession::Keep(std::vector<LatePublish>* late) {
  Close(CloseReason::kDisconnected);
  if (!connected_ || state_.expiry_s == 0) return nullptr;
  connected_ = false;
  // 4.3.3 The identifier is held from the PUBLISH on.
  Incoming& incoming = state_.incoming;
  acks_.ForEach([&](uint64_t handle, const AckQueue::Released& one, uint16_t missing) {
    if (late == nullptr || one.qos != 2 || missing == 0 || one.code != reason::kSuccess) return;
    incoming.Set(one.packet_id, Incoming::State::kLate);
    // The owner of an earlier connection still reports the others.
    if (late_.contains(one.packet_id)) return;
    late->push_back({handle, incoming.hash(one.packet_id), one.packet_id, missing});
  });
  late_.clear();
  incoming.EndConnection();
  return std::make_unique<KeptSession>(std::move(state_));
}

}  // namespace seganet::mqtt
