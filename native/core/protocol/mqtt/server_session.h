#ifndef SEGANET_CORE_PROTOCOL_MQTT_SERVER_SESSION_H_
#define SEGANET_CORE_PROTOCOL_MQTT_SERVER_SESSION_H_

#include <cstddef>
#include <cstdint>
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
#include "core/protocol/mqtt/topic_aliases.h"

namespace seganet::mqtt {

struct OutgoingPublish;

struct Limits {
  // Largest packet in all, header included. Also the most that is buffered of a split packet.
  size_t max_packet_bytes = 262144;
  // Levels of a topic name or filter.
  size_t max_topic_levels = 128;
  // Filters in one SUBSCRIBE or UNSUBSCRIBE; more is kTooLarge.
  size_t max_filters_per_packet = 256;
  // From so many QoS 1 and 2 PUBLISH packets without their PUBACK or PUBREC on, WantsPause() is
  // true.
  size_t max_unacknowledged = 1024;
  // The same for output that the device does not read. SendPublish() stops there too.
  size_t max_output_bytes = 65536;
  // 5: QoS 1 and 2 PUBLISH packets that a device may have on their way, 1..65,535; more is
  // kReceiveMaximum. 3.x: those of QoS 2 without their PUBREL, whose identifiers are remembered.
  uint16_t receive_maximum = 1024;
  // 5: topic aliases of a device, and the bytes of their topics in all; more is kTooLarge.
  uint16_t topic_alias_maximum = 16;
  size_t max_alias_bytes = 16384;
  // The longest keep-alive, told to MQTT 5 devices; one of 3.x cannot be told and has its own. 0 =
  // each its own.
  uint16_t server_keep_alive_s = 0;
  // The longest that a session outlives its connection, told to MQTT 5 devices that ask for more;
  // one of 3.x without a clean session gets this. 0 = no session does.
  uint32_t session_expiry_max_s = 3600;
  // Subscriptions of a device, and the bytes of their filters in all; more are refused.
  size_t max_subscriptions = 64;
  size_t max_subscription_bytes = 16384;
  // QoS 1 PUBLISH packets to the device that it has not answered, and their bytes in all. A single
  // one may be larger.
  size_t max_kept_commands = 32;
  size_t max_command_bytes = 262144;
  // Topics that IsOddTopic() names are taken.
  bool odd_topics = false;
};

// What became of a PUBLISH to the device.
enum class SendResult : uint8_t {
  kSent,            // QoS 1: Handler::OnCommandAnswer() will come
  kDone,            // the subscription's QoS is 0: it is in the output and that is all
  kNoSubscription,  // none that matches, or not connected
  kWindowFull,      // too much is on its way: try again after an answer, or when output was sent
  kTooLarge,        // over the device's Maximum Packet Size, or no valid topic name
};

// What a session tells its owner. All views end with the call. The session may not be fed or
// destroyed inside of a call; AcknowledgeSlot(), RefuseSlot(), SendPublish() and Disconnect() are
// allowed, the last two not in OnConnect.
class Handler {
 public:
  virtual ~Handler() = default;

  // Any other code than kAccepted is sent and closes the session. An empty client_id asks for one
  // to be made up [MQTT-3.1.3-6]; an identifier that is connected already ends the older connection
  // [MQTT-3.1.4-2]. Both are the owner's part.
  //
  // The owner may move the device's kept session into *kept, unless connect.clean_session; the
  // session goes on with it and tells the device so.
  virtual ConnectCode OnConnect(const Connect& connect, std::unique_ptr<KeptSession>* kept) = 0;

  // QoS 1 and 2: publish.slot has to be acknowledged or refused, here or later. QoS 1: a packet
  // with DUP set, or with an identifier that is still waiting, is reported like any other: the
  // session does not know what the device lost, and at least once is what QoS 1 promises. QoS 2: an
  // identifier is reported once until its PUBREL, also over connections when its PUBREC was sent.
  virtual void OnPublish(const Publish& publish) = 0;

  // False refuses the filter. It is granted QoS 1 at most. Called once the whole packet was found
  // valid.
  virtual bool OnSubscribe(const Filter& filter) {
    (void)filter;
    return true;
  }
  virtual void OnUnsubscribe(const Filter& filter) { (void)filter; }
  // Commands may go: there is a subscription more and its SUBACK is in the output, or a session
  // with subscriptions goes on.
  virtual void OnSubscribed() {}

  // A packet that brings nothing and still costs: SUBSCRIBE, UNSUBSCRIBE, PINGREQ, a QoS 2 PUBLISH
  // that was reported before, a PUBREL for nothing.
  virtual void OnControl() {}

  // The device answered a QoS 1 SendPublish(). `code` is 0 when it took it; 3.x has no other. From
  // 0x80 on it is refused: by the device, or as too large (0x95) for the connection that it had to
  // be sent again on.
  virtual void OnCommandAnswer(uint64_t id, uint8_t code) {
    (void)id;
    (void)code;
  }

  // 5: a PUBLISH was refused, and the connection goes on. `code` is 0x99 when its payload is not
  // the UTF-8 that it claims, 0x90 for an odd topic. With QoS 0 the device does not learn it.
  virtual void OnRefusedPublish(uint8_t code) { (void)code; }

  // A DISCONNECT came: the session ended as agreed. will() tells whether there still is one (5:
  // any code but 0).
  virtual void OnDisconnect() {}
};

// The server's end of one device's MQTT connection: bytes in, events and bytes out. No socket, no
// clock, no thread. A packet that arrives whole is parsed where it lies and allocates nothing; one
// that is split over reads is buffered, in memory that grows with what arrived and not with
// what its header claims.
//
// The owner closes the socket when Feed() returns a reason, after sending output(); and when
// nothing came for 1.5 times keep_alive_s() [MQTT-3.1.2-24].
//
// Thread safety: none; owned by one worker.
class ServerSession {
 public:
  // REQUIRES: handler outlives the session.
  explicit ServerSession(Handler* handler, const Limits& limits = {})
      : handler_(handler), limits_(limits) {}
  ServerSession(const ServerSession&) = delete;
  ServerSession& operator=(const ServerSession&) = delete;

  // The client identifier that the owner made up. Only used for a CONNECT without one: MQTT 5 is
  // told, and refused without it. REQUIRES: before the first Feed.
  void SetAssignedId(std::string id) { assigned_id_ = std::move(id); }

  // Takes all bytes, in pieces of any size. Returns kNone, or why the connection must be closed;
  // the reason then stays and further bytes are ignored.
  [[nodiscard]] CloseReason Feed(std::span<const uint8_t> bytes);

  // Lets the PUBACK or PUBREC of a Publish go, behind those of all earlier ones [MQTT-4.6.0-2].
  // False, and no effect, when the slot is not waiting or the session is closed.
  bool AcknowledgeSlot(uint64_t slot);

  // Instead of all acknowledgements of the slot: the record is not taken. 5: `code` (0x87, 0x97 …)
  // goes in the PUBACK or PUBREC; 3.x can only be acknowledged. REQUIRES: code >= 0x80.
  bool RefuseSlot(uint64_t slot, uint8_t code);

  // The slot has to be acknowledged `n` times before its PUBACK leaves; 1 when this is not called.
  // REQUIRES: the slot of the Publish that is being handled, n > 0.
  void ExpectAcknowledgements(uint64_t slot, uint16_t n) { acks_.Expect(slot, n); }

  // A PUBLISH to the device, with the QoS that its subscription was granted and `qos` (0 or 1) at
  // most. `id` comes back in OnCommandAnswer when kSent.
  [[nodiscard]] SendResult SendPublish(uint64_t id, std::string_view topic,
                                       std::span<const uint8_t> payload, uint8_t qos);
  // There is a subscription.
  bool listening() const { return connected_ && !state_.subscriptions.empty(); }
  // A subscription matches.
  bool Listens(std::string_view topic) const {
    return open() && state_.subscriptions.Listens(topic);
  }
  // Ids of SendPublish() that the device has not answered.
  std::vector<uint64_t> Unanswered() const { return state_.Unanswered(); }

  // Ends the connection from this side: DISCONNECT with `code` for MQTT 5 (0x8B, 0x8D, 0x8E, 0x96,
  // 0x97, 0x98), nothing for 3.x. Feed() then returns kDisconnected. The will stays. No effect when
  // it is closed already; before the CONNECT nothing is sent.
  void Disconnect(uint8_t code);

  // At the end of a connection, for whatever reason: what outlives it, null when nothing does. The
  // session is closed by it.
  std::unique_ptr<KeptSession> Keep();

  // Bytes to send. Valid until the next call of any function that is not const.
  std::string_view output() const { return std::string_view(output_).substr(output_sent_); }
  // REQUIRES: n <= output().size().
  void ConsumeOutput(size_t n);

  // The device has too much outstanding: stop reading its socket until this is false. Feed() still
  // takes what was read before, so at most one read goes beyond the limits.
  bool WantsPause() const {
    return acks_.pending() >= limits_.max_unacknowledged ||
           output_.size() - output_sent_ >= limits_.max_output_bytes;
  }

  bool connected() const { return connected_; }
  CloseReason close_reason() const { return close_reason_; }
  uint8_t protocol_level() const { return protocol_level_; }
  // 0 = none. Known from OnConnect on.
  uint16_t keep_alive_s() const { return keep_alive_s_; }
  size_t unacknowledged() const { return acks_.pending(); }

  // The will that has to be published if the connection ends now [MQTT-3.1.2-8]: null without one,
  // before the CONNECT was accepted and after DISCONNECT [MQTT-3.14.4-3].
  const Will* will() const { return will_ ? &will_->view : nullptr; }
  // 5: so long after the end, unless the device is back before; the session's end is the latest
  // (5: 3.1.3.2.2).
  uint32_t will_delay_s() const;

  // Memory for the packet that is split over reads; and all that the session holds beyond itself.
  size_t buffered_bytes() const { return partial_.capacity(); }
  // What has come of that packet.
  size_t partial_bytes() const { return partial_.size(); }
  size_t memory_bytes() const;

 private:
  struct StoredWill {
    std::string bytes;  // topic, properties, then payload
    Will view;
  };
  struct Frame {
    Fault fault;
    FixedHeader header;
    size_t total = 0;  // of the packet, 0 = its header is not complete
  };

  Frame FrameOf(std::span<const uint8_t> bytes) const;
  Fault FinishPartial(std::span<const uint8_t>* bytes);
  void Buffer(std::span<const uint8_t> bytes, size_t total);
  void Close(const Fault& fault);

  Fault OnPacket(const FixedHeader& header, std::span<const uint8_t> body);
  Fault OnConnectPacket(const FixedHeader& header, std::span<const uint8_t> body);
  Fault OnPublishPacket(uint8_t flags, std::span<const uint8_t> body);
  Fault OnPublishToAnswer(Publish* publish, uint8_t refusal);
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
  void SendWaiting();
  size_t window() const;
  bool Fits(const OutgoingPublish& publish) const;
  bool open() const { return connected_ && close_reason_ == CloseReason::kNone; }
  bool five() const { return protocol_level_ == kLevel5; }

  // 5: 4.9, as the device counts.
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
  AckQueue acks_;
  // 5: PUBLISH packets of this connection that count against receive_maximum.
  uint32_t quota_used_ = 0;
  uint16_t device_receive_maximum_ = 65535;
  bool may_expire_later_ = false;       // 5: the CONNECT asked for a session expiry
  uint32_t device_maximum_packet_ = 0;  // 0 = any
  KeptSession state_;
  TopicAliases aliases_;
  std::vector<uint8_t> partial_;  // the beginning of a packet
  std::unique_ptr<StoredWill> will_;
  std::string assigned_id_;
};

}  // namespace seganet::mqtt

#endif  // SEGANET_CORE_PROTOCOL_MQTT_SERVER_SESSION_H_
