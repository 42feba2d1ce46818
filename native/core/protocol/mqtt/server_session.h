// The server's end of one device's MQTT connection. Clauses are those of MQTT 3.1.1; "5:" marks
// clauses and facts of 5.0, "3.x:" those of 3.1 and 3.1.1.
#ifndef SEGANET_CORE_PROTOCOL_MQTT_SERVER_SESSION_H_
#define SEGANET_CORE_PROTOCOL_MQTT_SERVER_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/protocol/close_reason.h"
#include "core/protocol/mqtt/ack_queue.h"
#include "core/protocol/mqtt/codec.h"
#include "core/protocol/mqtt/kept_session.h"
#include "core/protocol/mqtt/late_publish.h"
#include "core/protocol/mqtt/topic_aliases.h"

namespace seganet::mqtt {

struct OutgoingPublish;

// Limits for one device.
struct Limits {
  // Largest packet, header included, bytes. Also bounds the buffer for a split packet.
  size_t max_packet_bytes = 262144;
  // Levels of a topic name or filter.
  size_t max_topic_levels = 128;
  // Filters in one SUBSCRIBE or UNSUBSCRIBE; more are kTooLarge.
  size_t max_filters_per_packet = 256;
  // QoS 1 and 2 PUBLISH packets without PUBACK or PUBREC. From this number on, WantsPause() is
  // true.
  size_t max_unacknowledged = 1024;
  // SUBACK and UNSUBACK packets that wait until their changes are saved. From this number on,
  // WantsPause() is true.
  size_t max_unsaved_answers = 16;
  // Bytes of output that the device has not read. From this number on, WantsPause() is true.
  // SendPublish() exceeds it only with a single packet when no other output waits.
  size_t max_output_bytes = 65536;
  // 5: QoS 1 and 2 PUBLISH packets that a device may have in flight, 1..65,535; more are
  // kReceiveMaximum. 3.x: bounds the QoS 2 packets without PUBREL, whose identifiers are kept.
  uint16_t receive_maximum = 1024;
  // 5: topic aliases of a device, and the total bytes of their topics. A higher alias is
  // kBadTopicAlias, more bytes are kTooLarge.
  uint16_t topic_alias_maximum = 16;
  size_t max_alias_bytes = 16384;
  // 5: the longest keep-alive, s, announced in the CONNACK. 3.x cannot announce it, so those
  // devices use their own. 0 = each device uses its own.
  uint16_t server_keep_alive_s = 0;
  // The longest time that a session outlives its connection, s. 5: announced to devices that
  // request more. 3.x: used for each session that is not clean. 0 = no session outlives its
  // connection.
  uint32_t session_expiry_max_s = 3600;
  // Subscriptions of a device, and the total bytes of their filters; more are refused.
  size_t max_subscriptions = 64;
  size_t max_subscription_bytes = 16384;
  // QoS 1 PUBLISH packets to the device that it has not answered, and their total bytes. A single
  // packet may be larger.
  size_t max_kept_commands = 32;
  size_t max_command_bytes = 262144;
  // True accepts topics for which IsOddTopic() is true.
  bool odd_topics = false;
};

// The result of SendPublish().
enum class SendResult : uint8_t {
  kSent,            // QoS 1: Handler::OnCommandAnswer() follows
  kDone,            // QoS 0: the packet is in the output, and no answer follows
  kNoSubscription,  // no matching subscription, or not connected
  kWindowFull,      // too much in flight: try again after an answer, or after output is sent
  kTooLarge,        // over the device's Maximum Packet Size, or an invalid topic name
};

// The answer to a filter of a SUBSCRIBE.
enum class Grant : uint8_t {
  kCommands,  // at most QoS 1
  kRecords,   // records of other devices, and commands: QoS 0
  kNotAllowed,
  kNoRoom,  // 5: 0x97
};

// Receives the events of a session. The owner implements it. Views are valid during the call only.
// During a call the owner must not call Feed() or destroy the session. It may call
// AcknowledgePublish(), RefusePublish(), and, except in OnConnect(), SendPublish() and
// Disconnect().
class Handler {
 public:
  virtual ~Handler() = default;

  // Returns the answer to a valid CONNECT. A code other than kAccepted is sent and closes the
  // session. The owner assigns an identifier for an empty client_id [MQTT-3.1.3-6] and closes an
  // older connection with the same identifier [MQTT-3.1.4-2].
  //
  // Unless connect.clean_session is true, the owner may move the device's kept session into *kept.
  // The session then resumes it and sets Session Present.
  virtual ConnectCode OnConnect(const Connect& connect, std::unique_ptr<KeptSession>* kept) = 0;

  // Reports a PUBLISH. QoS 1 and 2: the owner must acknowledge or refuse the handle publish.handle,
  // during the call or later. QoS 1: a packet with DUP set, or with an identifier that still waits,
  // is reported like any other: the session does not know what the device lost, and QoS 1 means at
  // least once. QoS 2: an identifier is reported once until its PUBREL, across connections too
  // (Keep), unless the owner refused its record or lost it.
  virtual void OnPublish(const Publish& publish) = 0;

  // Called for each filter after the whole packet was found valid.
  virtual Grant OnSubscribe(const Filter& filter) {
    (void)filter;
    return Grant::kCommands;
  }
  virtual void OnUnsubscribe(const Filter& filter) { (void)filter; }
  // All filters of a SUBSCRIBE or UNSUBSCRIBE are in force (subscriptions()). Its answer is not in
  // the output yet.
  virtual void OnFilters() {}
  // Commands may be sent: a subscription was added and its SUBACK is in the output, or a session
  // with subscriptions was resumed.
  virtual void OnSubscribed() {}

  // The subscriptions of a session that outlives its connection have changed. Returns the ticket of
  // the change: the answer to the device waits for Saved(). 0 = the answer does not wait.
  virtual uint64_t OnSessionChanged() { return 0; }
  // True if the change with this ticket is saved. If not, the owner calls Saved() when it is.
  virtual bool IsSaved(uint64_t ticket) {
    (void)ticket;
    return true;
  }

  // A packet without a record, for rate limits: SUBSCRIBE, UNSUBSCRIBE, PINGREQ, a QoS 2 PUBLISH
  // that was already reported, or a PUBREL with an unknown identifier.
  virtual void OnControl() {}

  // The device answered a QoS 1 SendPublish(). `code` is 0 if the device took it; 3.x has no other
  // code. From 0x80 on, the device refused it, or it was too large (0x95) to be sent again on this
  // connection.
  virtual void OnCommandAnswer(uint64_t id, uint8_t code) {
    (void)id;
    (void)code;
  }

  // 5: the session refused a PUBLISH and keeps the connection. `code` is 0x99 for a payload that is
  // not the UTF-8 it claims to be, 0x90 for an odd topic. With QoS 0 the device gets no notice.
  virtual void OnRefusedPublish(uint8_t code) { (void)code; }

  // The device sent DISCONNECT. will() is null unless the will remains (5: any code except 0).
  virtual void OnDisconnect() {}
};

// The server's end of one device's MQTT connection: bytes in, events and bytes out. It has no
// socket, no clock and no thread. A packet that arrives whole is parsed in place without
// allocation. A packet that is split over reads is buffered; the buffer grows with the bytes
// received, not with the length that the header claims.
//
// When Feed() returns a reason, the owner sends output() and closes the socket. It also closes the
// socket after a silence of 1.5 times keep_alive_s() [MQTT-3.1.2-24].
//
// Thread safety: none; owned by one worker.
class ServerSession {
 public:
  // REQUIRES: handler outlives the session.
  explicit ServerSession(Handler* handler, const Limits& limits = {})
      : handler_(handler), limits_(limits) {}
  ServerSession(const ServerSession&) = delete;
  ServerSession& operator=(const ServerSession&) = delete;

  // Sets the client identifier that the owner assigned, for a CONNECT without one. 5: announced in
  // the CONNACK; a CONNECT without identifier is refused if none is assigned.
  // REQUIRES: called before the first Feed().
  void SetAssignedId(std::string id);

  // Takes all bytes, in pieces of any size. Returns kNone, or why the connection must be closed.
  // The reason does not change after that, and further bytes are ignored.
  [[nodiscard]] CloseReason Feed(std::span<const uint8_t> bytes);

  // Acknowledges the PUBLISH with this handle (Publish::handle). Its PUBACK or PUBREC leaves after
  // those of all earlier packets [MQTT-4.6.0-2]. False, and no effect, when the handle is not
  // waiting or the session is closed.
  bool AcknowledgePublish(uint64_t handle);

  // Refuses the PUBLISH, in place of all its acknowledgements. 5: the PUBACK or PUBREC carries
  // `code` (0x87, 0x97 …). 3.x: it is acknowledged, because 3.x has no refusal. False as for
  // AcknowledgePublish().
  // REQUIRES: code >= 0x80.
  bool RefusePublish(uint64_t handle, uint8_t code);

  // Refuses the PUBLISH because its receiver failed: 0x83 in its PUBACK or PUBREC, in place of all
  // its acknowledgements. False, and no effect, in 3.x, which has no refusal.
  bool FailPublish(uint64_t handle);

  // Gives up the PUBLISH, because its record is lost and was never safe, and closes the session
  // with `code` (see Disconnect), so that the device sends it again. QoS 2: its identifier is not
  // kept.
  void GiveUpPublish(uint64_t handle, uint8_t code);

  // Reports the end of a record of an earlier connection (Keep): its PUBREC may leave now. Returns
  // false if it is lost and the device, which has repeated it, must repeat it again: the session is
  // closed.
  [[nodiscard]] bool EndLate(const LatePublish& late, LateEnd end);

  // Sets the number of acknowledgements that the PUBLISH needs before its PUBACK leaves.
  // The default is 1.
  // REQUIRES: the handle is waiting and has no acknowledgement yet, n > 0.
  void ExpectAcknowledgements(uint64_t handle, uint16_t n) { acks_.Expect(handle, n); }

  // Sends a PUBLISH to the device. Its QoS is the lower of `qos` (0 or 1) and the subscription's.
  // With kSent, OnCommandAnswer() returns `id`.
  [[nodiscard]] SendResult SendPublish(uint64_t id, std::string_view topic,
                                       std::span<const uint8_t> payload, uint8_t qos);
  // Puts whole packets into the output, as they are. They do not count for WantsPause().
  // REQUIRES: output() is empty; packets of this protocol level, not above the device's Maximum
  // Packet Size.
  void SendPackets(std::string_view packets);
  const Subscriptions& subscriptions() const { return state_.subscriptions; }
  // 5: the Maximum Packet Size of the device, 0 = any.
  uint32_t device_maximum_packet() const { return device_maximum_packet_; }
  // True if the device is connected and has a subscription.
  bool listening() const { return connected_ && !state_.subscriptions.empty(); }
  // True if the session is open and a subscription matches.
  bool Listens(std::string_view topic) const {
    return open() && state_.subscriptions.Listens(topic);
  }
  // Returns the ids of SendPublish() that the device has not answered.
  std::vector<uint64_t> Unanswered() const { return state_.Unanswered(); }

  // The changes up to `ticket` are saved: their SUBACK and UNSUBACK packets leave.
  void Saved(uint64_t ticket);
  // SUBACK and UNSUBACK packets that wait for Saved().
  size_t unsaved_answers() const { return unsaved_answers_.size(); }
  // The session moved to an owner with other tickets. REQUIRES: no answer waits.
  void ForgetTicket();

  // The state that outlives the connection, null if none does, or before the CONNECT was accepted.
  const KeptSession* lasting() const {
    return connected_ && state_.expiry_s != 0 ? &state_ : nullptr;
  }
  KeptSession* lasting() { return connected_ && state_.expiry_s != 0 ? &state_ : nullptr; }
  // True if the owner saved this session on disk.
  bool is_saved() const { return state_.saved_end_ms != KeptSession::kUnsaved; }

  // Closes the session from this side. 5: sends DISCONNECT with `code` (0x8B, 0x8D, 0x8E, 0x96,
  // 0x97, 0x98, 0x9C) if the device is connected. 3.x: sends nothing. Feed() then returns
  // kDisconnected. The will remains. No effect when the session is already closed.
  // server_reference: with 0x9C, see AppendDisconnect5.
  void Disconnect(uint8_t code, std::string_view server_reference = {});

  // Closes the session and returns the state that outlives the connection, null when there is none.
  // Call it at the end of each connection. It adds the QoS 2 packets to *late whose record is not
  // safe yet. The owner must report how each of them ends (LatePublish). Without `late` the session
  // does not hold their identifiers.
  std::unique_ptr<KeptSession> Keep(std::vector<LatePublish>* late = nullptr);

  // Bytes to send. Valid until the next call of a non-const function.
  std::string_view output() const { return std::string_view(output_).substr(output_sent_); }
  // Removes the first n bytes of output().
  // REQUIRES: n <= output().size().
  void ConsumeOutput(size_t n);

  // True if the device has too much outstanding. The owner stops reading its socket until it is
  // false. Feed() still takes bytes that were already read, so at most one read exceeds the limits.
  bool WantsPause() const {
    return acks_.pending() >= limits_.max_unacknowledged ||
           unsaved_answers_.size() >= limits_.max_unsaved_answers ||
           output_.size() - output_sent_ >= limits_.max_output_bytes + packets_bytes_;
  }

  bool connected() const { return connected_; }
  CloseReason close_reason() const { return close_reason_; }
  uint8_t protocol_level() const { return protocol_level_; }
  // 0 = none. Valid from OnConnect() on.
  uint16_t keep_alive_s() const { return keep_alive_s_; }
  // QoS 1 and 2 PUBLISH packets without PUBACK or PUBREC.
  size_t unacknowledged() const { return acks_.pending(); }

  // The will to publish if the connection ends now [MQTT-3.1.2-8]. Null without a will, before the
  // CONNECT was accepted, and after DISCONNECT [MQTT-3.14.4-3].
  const Will* will() const { return will_ ? &will_->view : nullptr; }
  // Drops the will: the owner has published it.
  void DropWill() { will_.reset(); }
  // 5: seconds from the connection's end until the will is published, unless the device reconnects
  // before; at most the session expiry (5: 3.1.3.2.2).
  uint32_t will_delay_s() const;

  // Capacity of the buffer for a split packet, and the bytes in it.
  size_t buffered_bytes() const { return partial_.capacity(); }
  size_t partial_bytes() const { return partial_.size(); }
  // Memory of the session beyond its own size.
  size_t memory_bytes() const;

 private:
  struct StoredWill {
    std::string bytes;  // topic, properties, then payload
    Will view;
  };
  struct Frame {
    Fault fault;
    FixedHeader header;
    size_t total = 0;  // bytes of the packet, 0 = its header is incomplete
  };

  Frame FrameOf(std::span<const uint8_t> bytes) const;
  Fault FinishPartial(std::span<const uint8_t>* bytes);
  void Buffer(std::span<const uint8_t> bytes, size_t total);
  void Close(const Fault& fault, std::string_view server_reference = {});

  Fault OnPacket(const FixedHeader& header, std::span<const uint8_t> body);
  Fault OnConnectPacket(const FixedHeader& header, std::span<const uint8_t> body);
  Fault OnPublishPacket(uint8_t flags, std::span<const uint8_t> body);
  Fault OnPublishToAnswer(Publish* publish, uint8_t refusal);
  Fault AwaitLate(uint16_t packet_id);
  Fault OnPubackPacket(std::span<const uint8_t> body);
  Fault OnPubrecPacket(std::span<const uint8_t> body);
  Fault OnPubcompPacket(std::span<const uint8_t> body);
  Fault OnPubrelPacket(std::span<const uint8_t> body);
  Fault OnSubscribePacket(std::span<const uint8_t> body);
  Fault OnUnsubscribePacket(std::span<const uint8_t> body);
  Fault OnDisconnectPacket(std::span<const uint8_t> body);

  bool MayConnect(const Connect& connect) const;
  void Accept(const Connect& connect, std::unique_ptr<KeptSession> kept);
  uint32_t ExpiryFor(const Connect& connect) const;
  std::string ConnackProperties(const Connect& connect) const;
  bool FitsDevice(size_t bytes) const {
    return device_maximum_packet_ == 0 || bytes <= device_maximum_packet_;
  }
  void KeepWill(const Will& will);
  void Release(const AckQueue::Released& released);
  char SubscribeCode(const Filter& filter, uint32_t number);
  void AnswerFilters(std::string answer, bool changed);
  void SendWaiting();
  size_t window() const;
  bool Fits(const OutgoingPublish& publish) const;
  bool open() const { return connected_ && close_reason_ == CloseReason::kNone; }
  bool five() const { return protocol_level_ == kLevel5; }

  // 5: 4.9, counted as the device counts it.
  bool TakeQuota() {
    if (!five()) return true;
    if (quota_used_ >= limits_.receive_maximum) return false;
    ++quota_used_;
    return true;
  }
  void GiveQuotaBack() { quota_used_ -= quota_used_ > 0 ? 1 : 0; }

  Handler* const handler_;
  const Limits limits_;
  bool connected_ = false;
  CloseReason close_reason_ = CloseReason::kNone;
  uint8_t protocol_level_ = 0;
  uint16_t keep_alive_s_ = 0;
  size_t output_sent_ = 0;  // bytes of output_ that were consumed
  std::string output_;
  size_t packets_bytes_ = 0;  // of SendPackets(), until the output is empty
  AckQueue acks_;
  // Handles of repeated packets whose record is that of an earlier connection, by identifier.
  std::map<uint16_t, uint64_t> late_;
  // 5: PUBLISH packets of this connection that count toward receive_maximum.
  uint32_t quota_used_ = 0;
  uint16_t device_receive_maximum_ = 65535;
  bool may_expire_later_ = false;       // 5: the CONNECT asked for a session expiry
  uint32_t device_maximum_packet_ = 0;  // 0 = any
  KeptSession state_;
  struct UnsavedAnswer {
    uint64_t ticket;
    std::string packet;
  };
  std::deque<UnsavedAnswer> unsaved_answers_;  // tickets ascend
  TopicAliases aliases_;
  std::vector<uint8_t> partial_;  // the beginning of a packet
  std::unique_ptr<StoredWill> will_;
  std::string assigned_id_;
};

}  // namespace seganet::mqtt

#endif  // SEGANET_CORE_PROTOCOL_MQTT_SERVER_SESSION_H_
