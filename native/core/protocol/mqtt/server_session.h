#ifndef SEGANET_CORE_PROTOCOL_MQTT_SERVER_SESSION_H_
#define SEGANET_CORE_PROTOCOL_MQTT_SERVER_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/protocol/mqtt/ack_queue.h"
#include "core/protocol/close_reason.h"
#include "core/protocol/mqtt/codec.h"

namespace seganet::mqtt {

struct Limits {
  // Largest packet in all, header included. Also the most that is buffered of a split packet.
  size_t max_packet_bytes = 262144;
  // Levels of a topic name or filter.
  size_t max_topic_levels = 128;
  // Filters in one SUBSCRIBE or UNSUBSCRIBE; more is kTooLarge.
  size_t max_filters_per_packet = 256;
  // From so many QoS 1 PUBLISH packets without their PUBACK on, WantsPause() is true.
  size_t max_unacknowledged = 1024;
  // The same for output that the device does not read.
  size_t max_output_bytes = 65536;
};

// What a session tells its owner. All views end with the call. The session may not be fed or
// destroyed inside of a call; AcknowledgeSlot() is allowed.
class Handler {
 public:
  virtual ~Handler() = default;

  // Any other code than kAccepted is sent and closes the session. An empty client_id asks for one
  // to be made up [MQTT-3.1.3-6]; an identifier that is connected already ends the older connection
  // [MQTT-3.1.4-2]. Both are the owner's part.
  virtual ConnectCode OnConnect(const Connect& connect) = 0;

  // QoS 1: publish.slot has to be acknowledged, here or later. A packet with DUP set, or with an
  // identifier that is still waiting, is reported like any other: the session does not know what
  // the device lost, and at least once is what QoS 1 promises.
  virtual void OnPublish(const Publish& publish) = 0;

  // False refuses the filter. It is granted QoS 1 at most. Called once the whole packet was found
  // valid.
  virtual bool OnSubscribe(const Filter& filter) {
    (void)filter;
    return true;
  }
  virtual void OnUnsubscribe(const Filter& filter) { (void)filter; }

  // A DISCONNECT came: the session ended as agreed and has no will any more.
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

  // Takes all bytes, in pieces of any size. Returns kNone, or why the connection must be closed;
  // the reason then stays and further bytes are ignored.
  [[nodiscard]] CloseReason Feed(std::span<const uint8_t> bytes);

  // Lets the PUBACK of a Publish go, behind those of all earlier ones [MQTT-4.6.0-2]. False, and no
  // effect, when the slot is not waiting or the session is closed.
  bool AcknowledgeSlot(uint64_t slot);

  // The slot has to be acknowledged `n` times before its PUBACK leaves; 1 when this is not called.
  // REQUIRES: the slot of the Publish that is being handled, n > 0.
  void ExpectAcknowledgements(uint64_t slot, uint16_t n) { acks_.Expect(slot, n); }

  // Bytes to send. Valid until the next call of Feed, AcknowledgeSlot or ConsumeOutput.
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

  // Memory for the packet that is split over reads; and all that the session holds beyond itself.
  size_t buffered_bytes() const { return partial_.capacity(); }
  size_t memory_bytes() const;

 private:
  struct StoredWill {
    std::string bytes;  // topic, then payload
    Will view;
  };
  struct Frame {
    CloseReason reason = CloseReason::kNone;
    FixedHeader header;
    size_t total = 0;  // of the packet, 0 = its header is not complete
  };

  Frame FrameOf(std::span<const uint8_t> bytes) const;
  CloseReason FinishPartial(std::span<const uint8_t>* bytes);
  void Buffer(std::span<const uint8_t> bytes, size_t total);
  CloseReason OnPacket(const FixedHeader& header, std::span<const uint8_t> body);
  CloseReason OnConnectPacket(std::span<const uint8_t> body);
  CloseReason OnPublishPacket(uint8_t flags, std::span<const uint8_t> body);
  CloseReason OnSubscribePacket(std::span<const uint8_t> body);
  CloseReason OnUnsubscribePacket(std::span<const uint8_t> body);
  void KeepWill(const Will& will);

  Handler* const handler_;
  const Limits limits_;
  bool connected_ = false;
  CloseReason close_reason_ = CloseReason::kNone;
  uint8_t protocol_level_ = 0;
  uint16_t keep_alive_s_ = 0;
  size_t output_sent_ = 0;  // bytes of output_ that were consumed
  std::string output_;
  AckQueue acks_;
  std::vector<uint8_t> partial_;  // the beginning of a packet
  std::unique_ptr<StoredWill> will_;
};

}  // namespace seganet::mqtt

#endif  // SEGANET_CORE_PROTOCOL_MQTT_SERVER_SESSION_H_
