#ifndef SEGANET_CORE_PROTOCOL_COAP_HANDLER_H_
#define SEGANET_CORE_PROTOCOL_COAP_HANDLER_H_

#include <cstdint>
#include <string_view>

namespace seganet::coap {

// A record as a device sent it; block by block if need be. The views end with the call.
struct Incoming {
  std::string_view device;   // 1..kMaxDeviceBytes bytes of UTF-8
  std::string_view topic;    // UTF-8 without U+0000, + and #
  std::string_view payload;  // any bytes
  uint8_t record_class = 0;  // 0 = the device named none
  bool confirmable = true;   // CON, or over TCP
  uint64_t slot = 0;         // towards Acknowledge(); 0 = the device wants no answer
};

enum class Verdict : uint8_t {
  kTaken,       // 2.04 once it is safe
  kFull,        // 5.03 with Max-Age
  kTooFast,     // 4.29 with Max-Age
  kNotAllowed,  // 4.03
  kNotTaken,    // 5.03 with Max-Age
};

struct Answer {
  Verdict verdict = Verdict::kTaken;
  // kTaken: how often Acknowledge() will be called with the slot; 0 = it is safe already.
  uint32_t copies = 0;
  // kFull, kTooFast, kNotTaken: when to try again, s.
  uint32_t retry_s = 1;
};

// Of OnCommandAnswer.
inline constexpr uint8_t kCommandTaken = 0;
inline constexpr uint8_t kCommandLost = 1;     // no acknowledgement in time, or nobody observes now
inline constexpr uint8_t kCommandRefused = 2;  // the device reset it

enum class CommandStart : uint8_t {
  kSent,          // OnCommandAnswer() will come
  kNotListening,  // nobody observes a resource that this topic belongs to
  kBusy,          // wait for the answer of an earlier command
  kTooLarge,      // for the device, or the topic has a segment of over 255 bytes
};

// What a server tells its owner. All views end with the call. Inside of a call Acknowledge() is
// allowed, everything else of the server is not.
class Handler {
 public:
  virtual ~Handler() = default;

  // A whole record, once: a duplicate of its message never comes here.
  virtual Answer OnRecord(const Incoming& record) = 0;

  // What became of a command: kCommandTaken, or why not. Exactly once for each kSent, unless the
  // server ends before.
  virtual void OnCommandAnswer(uint64_t id, uint8_t result) {
    (void)id;
    (void)result;
  }

  // False: 4.03.
  virtual bool MayObserve(std::string_view device) {
    (void)device;
    return true;
  }

  // true at each registration, also when it is repeated: commands may go. false when the device's
  // last one ended.
  virtual void OnObserved(std::string_view device, bool on) {
    (void)device;
    (void)on;
  }
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_HANDLER_H_
