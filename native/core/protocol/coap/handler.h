// The interface between a CoAP server, over UDP or over a stream, and its owner.
#ifndef SEGANET_CORE_PROTOCOL_COAP_HANDLER_H_
#define SEGANET_CORE_PROTOCOL_COAP_HANDLER_H_

#include <cstdint>
#include <string_view>

#include "core/protocol/coap/exchange.h"

namespace seganet::coap {

// A record from a device, reassembled if it came in blocks. Views are valid during the call only.
struct Incoming {
  std::string_view device;   // 1..kMaxDeviceBytes bytes of UTF-8
  std::string_view topic;    // UTF-8 without U+0000, + and #
  std::string_view payload;  // any bytes
  uint8_t record_class = 0;  // 0 = the device named no class
  bool confirmable = true;   // CON, or over TCP
  uint64_t handle = 0;       // handle for Acknowledge(); 0 = the device wants no response
  void* context = nullptr;   // as IsRecord() set it
};

// The owner's decision about a record, and the response that the device gets.
enum class Verdict : uint8_t {
  kTaken,       // 2.04 once the record is safe
  kFull,        // 5.03 with Max-Age
  kTooFast,     // 4.29 with Max-Age
  kNotAllowed,  // 4.03
  kNotTaken,    // 5.03 with Max-Age
};

struct Answer {
  Verdict verdict = Verdict::kTaken;
  // kTaken: the number of Acknowledge() calls that follow for this record; 0 = it is already safe.
  uint32_t copies = 0;
  // kFull, kTooFast, kNotTaken: the delay before the device tries again, s.
  uint32_t retry_s = 1;
};

// Results of a command (OnCommandAnswer).
inline constexpr uint8_t kCommandTaken = 0;
inline constexpr uint8_t kCommandLost = 1;     // no acknowledgement in time, or no observer is left
inline constexpr uint8_t kCommandRefused = 2;  // the device reset it

// The result of DatagramServer::Command() and StreamSession::Command().
enum class CommandStart : uint8_t {
  kSent,          // OnCommandAnswer() follows
  kNotListening,  // no observer of a resource that this topic belongs to
  kBusy,          // try again after the answer to an earlier command
  kTooLarge,      // for the device, or a topic segment is over 255 bytes
};

// Who answers a request of Handler::OnAsked().
enum class Taker : uint8_t {
  kNone,   // the session: 5.03 with Max-Age 1
  kDesk,   // StreamSession::Answer() follows, in this call or later
  kOwner,  // StreamSession::AnswerOwn(), RecordOwn() or PassToDesk() follows, in this call or later
};

// Receives the events of a server. The owner implements it. Views are valid during the call only.
// During a call the owner may call the server's Acknowledge(), and during OnAsked() and
// OnAskAnswer() a stream's Answer(), AnswerOwn() and Ask(), but no other function of the server.
class Handler {
 public:
  virtual ~Handler() = default;

  // Called once with each whole record. Duplicates of its message are not reported.
  virtual Answer OnRecord(const Incoming& record) = 0;

  // Reports the result of a command: kCommandTaken, kCommandLost or kCommandRefused. Called exactly
  // once for each kSent, unless the server is destroyed first.
  virtual void OnCommandAnswer(uint64_t id, uint8_t result) {
    (void)id;
    (void)result;
  }

  // True if the request in progress may be for this device. On false it gets 4.03.
  virtual bool MayBe(std::string_view device) {
    (void)device;
    return true;
  }

  // True if the device may observe commands. On false it gets 4.03.
  virtual bool MayObserve(std::string_view device) {
    (void)device;
    return true;
  }

  // A request under one of StreamOptions::prefixes.
  virtual Taker OnAsked(const Asked& asked) {
    (void)asked;
    return Taker::kNone;
  }

  // True if a request, before OnAsked(), is a record: OnRecord() follows instead, unless too many
  // records are not safe yet. Sets the topic, the class and the context. The request is plain, and
  // no other request or observation has its token.
  virtual bool IsRecord(const Asked& asked, Incoming* record) {
    (void)asked;
    (void)record;
    return false;
  }

  // The record with this handle is safe; its 2.04 follows.
  virtual void OnSafe(uint64_t handle) { (void)handle; }

  // The device's answer to StreamSession::Ask(): one call, or one for each notification.
  virtual void OnAskAnswer(uint64_t id, const AskAnswer& answer) {
    (void)id;
    (void)answer;
  }

  // `on` is true at each registration, repeated ones included: commands may be sent. It is false
  // when the device's last registration ended.
  virtual void OnObserved(std::string_view device, bool on) {
    (void)device;
    (void)on;
  }
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_HANDLER_H_
