// A protocol's server session, as the agent of a device sees it; and the agent, as the session
// does.
#ifndef SEGANET_CORE_DEVICES_AGENT_SESSION_H_
#define SEGANET_CORE_DEVICES_AGENT_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/plan/plan.h"
#include "core/protocol/close_reason.h"

namespace seganet {

enum class AgentEnd {
  kClosed,     // by the device, or the network
  kProtocol,   // Agent::close_reason() tells
  kKeepAlive,  // silent for 1.5 times its keep-alive [MQTT-3.1.2-24]
  kTakenOver,  // a new connection of the same device [MQTT-3.1.4-2]
  kStopped,    // the listener or the engine ends
  kTooMuch,    // the rest of its packet did not come in time, or such packets were too much
  kNotTaken,   // nothing took its record, which it has to keep
};

// Whether a device may be served on its connection.
enum class Admission : uint8_t {
  kAccepted,
  kNoRoom,  // the device table is full of devices that are connected
  kProven,  // the id was proved at some listener, and this connection proved nothing
};

// What a device has sent, before it is a record.
struct IncomingRecord {
  std::string_view topic;
  std::string_view payload;
  uint8_t flags = 0;         // kFlag…
  uint8_t record_class = 0;  // 0 = the device did not say
  uint64_t slot = 0;         // for AgentSession::Acknowledge; 0 = no acknowledgement is owed
};

struct RecordAnswer {
  enum class Verdict : uint8_t {
    kTaken,
    kFull,        // memory has no room for its class: only told to protocols that can say so
    kTooFast,     // over the device's rate: the same
    kNotAllowed,  // by the source's permissions
    kNotTaken,    // nothing stores it, sends it or hands it on
  };
  Verdict verdict = Verdict::kTaken;
  // kTaken: how often Acknowledge will be called for it; 0 = it is as safe as it gets.
  uint32_t copies = 0;
  uint32_t retry_s = 0;  // kFull, kTooFast, kNotTaken: when to try again
};

enum class CommandStart : uint8_t {
  kSent,          // its end is told by AgentSessionOwner::OnCommandAnswer
  kDone,          // nobody will tell: QoS 0, it is in the output
  kOffline,       // it has no connection
  kNotListening,  // no subscription matches
  kBusy,          // too many are on their way
  kTooLarge,      // for the device
};

// Implemented by the agent.
class AgentSessionOwner {
 public:
  virtual const std::string& device_id() const = 0;
  // Of its source, and how that treats its devices.
  virtual uint32_t stage() const = 0;
  virtual const SourceSettings& source() const = 0;

  // Whether the device is accepted; only then are the other calls allowed.
  virtual Admission OnConnect() = 0;
  virtual RecordAnswer OnRecord(const IncomingRecord& record) = 0;
  // By the permissions of its source; a refusal is counted.
  virtual bool MayPublish(std::string_view topic) = 0;
  virtual bool MaySubscribe(std::string_view filter) = 0;
  // A PUBLISH was refused for its topic (IsOddTopic); counted.
  virtual void OnTopicRefused() = 0;
  // The device sent something that is no record: it counts against its rate all the same.
  virtual void OnControl() = 0;
  // The device has subscribed to something, or observes it: commands may go.
  virtual void OnListening() = 0;
  // Command `id` was taken, or refused.
  virtual void OnCommandAnswer(uint64_t id, bool taken) = 0;

 protected:
  ~AgentSessionOwner() = default;
};

class KeptSessions;
class Wills;

// Thread safety: owned by one worker. Not to be fed or destroyed inside of a call to its owner.
class AgentSession {
 public:
  virtual ~AgentSession() = default;

  // Takes all bytes. Returns kNone, or why the connection must be closed once output() is sent.
  [[nodiscard]] virtual CloseReason Feed(std::span<const uint8_t> bytes) = 0;

  // Bytes to send; valid until the next call.
  virtual std::string_view output() const = 0;
  // REQUIRES: n <= output().size()
  virtual void ConsumeOutput(size_t n) = 0;

  // The device has too much outstanding: it is not to be read until this is false.
  virtual bool WantsPause() const = 0;

  // One copy of the record in `slot` is safe.
  virtual void Acknowledge(uint64_t slot) = 0;

  // Records that Acknowledge is still to be called for.
  virtual size_t unacknowledged() const = 0;

  // Goes on at another worker, with an agent and tables there. REQUIRES: unacknowledged() is 0.
  virtual void MoveTo(AgentSessionOwner* owner, KeptSessions* kept, Wills* wills) = 0;

  virtual CommandStart Command(uint64_t id, std::string_view topic, std::string_view payload,
                               uint8_t qos) = 0;

  // Some command could be sent now.
  virtual bool listening() const = 0;

  // The device may be silent for so long, µs; 0 = for ever.
  virtual int64_t silence_limit_us() const = 0;

  // Called some times a second where ticks(): for time-outs of the protocol's own.
  virtual void OnTime(int64_t now_us) = 0;
  virtual bool ticks() const { return true; }

  // Puts what the protocol has to say about the end into the output.
  virtual void SayGoodbye(AgentEnd end) = 0;

  // The connection is over. True: the session outlives it, and so do commands that the device did
  // not answer. Nothing else is called afterwards.
  virtual bool Finish(AgentEnd end) {
    (void)end;
    return false;
  }

  // All that it holds beyond itself; of that, for what the device has not sent in full.
  virtual size_t memory_bytes() const = 0;
  virtual size_t buffered_bytes() const { return 0; }
  // What has come of the packet that is not complete.
  virtual size_t partial_bytes() const { return 0; }
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_AGENT_SESSION_H_
