// The interfaces between an agent and the server session of its protocol, in both directions.
#ifndef SEGANET_CORE_DEVICES_AGENT_SESSION_H_
#define SEGANET_CORE_DEVICES_AGENT_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/plan.h"
#include "core/protocol/close_reason.h"
#include "core/protocol/mqtt/late_publish.h"

namespace seganet {

enum class AgentEnd {
  kClosed,     // by the device, or the network
  kProtocol,   // see Agent::close_reason()
  kKeepAlive,  // silent for 1.5 times its keep-alive [MQTT-3.1.2-24]
  kTakenOver,  // a new connection of the same device [MQTT-3.1.4-2]
  kStopped,    // the listener or the engine stops
  kTooMuch,    // the rest of a packet did not arrive in time, or incomplete packets took too much
               // memory
  kNotTaken,   // nothing took its record, so the device must keep it
  kDismissed,  // JavaScript ended it
};

// Whether a device may be served on its connection.
enum class Admission : uint8_t {
  kAccepted,
  kNoRoom,  // the device table is full of connected devices
  kProven,  // a listener has a proof for the id, and this connection has none
};

// A message from a device, before it becomes a record.
struct IncomingRecord {
  std::string_view topic;
  std::string_view payload;
  std::string_view trace;    // as Record::trace
  uint8_t flags = 0;         // kFlag…
  uint8_t record_class = 0;  // 0 = the device named none
  uint64_t handle = 0;       // for AgentSession::Acknowledge; 0 = needs no acknowledgement
};

struct RecordAnswer {
  enum class Verdict : uint8_t {
    kTaken,
    kFull,        // memory has no room for its class; only for protocols that can report it
    kTooFast,     // over the device's rate; only for protocols that can report it
    kNotAllowed,  // the source's permissions forbid it
    kNotTaken,    // nothing stores, sends or forwards it
    kNoPart,      // its device id names no part of a split stage
    kPartFull,    // its part is above its rate or budget
  };
  Verdict verdict = Verdict::kTaken;
  // kTaken: the number of Acknowledge calls to come; 0 = the record is as safe as it gets.
  uint32_t copies = 0;
  uint32_t retry_s = 0;  // kFull, kTooFast, kNotTaken, kPartFull: when to try again
};

// When a device should try again whose part is above its rate or budget.
inline constexpr uint32_t kPartFullRetryS = 5;

// Returns the answer for a record that no stage took; `retry_s` applies to Untaken::kNoRoute.
inline RecordAnswer AnswerOf(Untaken why, uint32_t retry_s) {
  switch (why) {
    case Untaken::kNoRoute:
      break;
    case Untaken::kNoPart:
      return {.verdict = RecordAnswer::Verdict::kNoPart};
    case Untaken::kPartFull:
      return {.verdict = RecordAnswer::Verdict::kPartFull, .retry_s = kPartFullRetryS};
  }
  return {.verdict = RecordAnswer::Verdict::kNotTaken, .retry_s = retry_s};
}

enum class CommandStart : uint8_t {
  kSent,          // AgentSessionOwner::OnCommandAnswer reports its outcome
  kDone,          // QoS 0: it is in the output, and there will be no answer
  kOffline,       // the device has no connection
  kNotListening,  // no subscription matches
  kBusy,          // too many are in flight
  kTooLarge,      // exceeds the device's packet size
};

class Subscriber;
struct Interest;

// Implemented by the agent.
class AgentSessionOwner {
 public:
  virtual const std::string& device_id() const = 0;
  // The source stage of the device, and its settings.
  virtual uint32_t stage() const = 0;
  virtual const SourceSettings& source() const = 0;

  // Returns whether the device is accepted. The calls below except MayPublish require kAccepted.
  virtual Admission OnConnect() = 0;
  virtual RecordAnswer OnRecord(const IncomingRecord& record) = 0;
  // True if the permissions of the source allow it; refusals are counted.
  virtual bool MayPublish(std::string_view topic) = 0;
  virtual bool MaySubscribe(std::string_view filter) = 0;
  // A PUBLISH was refused because of its topic (IsOddTopic). The owner counts it.
  virtual void OnTopicRefused() = 0;
  // The device sent a packet without a record, which counts against its rate too.
  virtual void OnControl() = 0;
  // True if SourceSettings::subscribers let the client read the records that match `filter`.
  virtual bool Reads(std::string_view filter) const {
    (void)filter;
    return false;
  }
  // The client is a local subscriber from now on.
  virtual void OnSubscriber(Subscriber* subscriber) { (void)subscriber; }
  // A SUBSCRIBE of a local subscriber asks for the last values that match, too.
  virtual void OnValuesAsked(const std::shared_ptr<const Interest>& interest) { (void)interest; }
  // The device has subscribed to or observes something, so commands can be sent.
  virtual void OnListening() = 0;
  // The device took command `id` (`taken`) or refused it.
  virtual void OnCommandAnswer(uint64_t id, bool taken) = 0;

 protected:
  ~AgentSessionOwner() = default;
};

class DeskSession;
class KeptSessions;
class Wills;
namespace mqtt {
struct KeptSession;
}  // namespace mqtt

// Thread safety: owned by one worker. It must not be fed or destroyed during a call to its owner.
class AgentSession {
 public:
  virtual ~AgentSession() = default;

  // Consumes all bytes. Returns kNone, or why the connection must be closed after output() is sent.
  [[nodiscard]] virtual CloseReason Feed(std::span<const uint8_t> bytes) = 0;

  // Returns the bytes to send; valid until the next call.
  virtual std::string_view output() const = 0;
  // Removes the first n bytes of the output. REQUIRES: n <= output().size().
  virtual void ConsumeOutput(size_t n) = 0;

  // True if the device has too much outstanding and must not be read until this is false.
  virtual bool WantsPause() const = 0;

  // Reports that one copy of the record with this handle is safe.
  virtual void Acknowledge(uint64_t handle) = 0;

  // Refuses the record with this handle, because a flow did not deliver it. Returns false if the
  // protocol has no such answer; the connection must be closed then.
  virtual bool Refuse(uint64_t handle) {
    (void)handle;
    return false;
  }

  // The record with this handle is lost and was never safe. The caller closes the connection, and
  // the device sends the record again.
  virtual void GiveUp(uint64_t handle) { (void)handle; }

  // Returns the number of records with pending Acknowledge calls, and of answers that wait for
  // Saved().
  virtual size_t unacknowledged() const = 0;

  // Continues on another worker, with that worker's agent and tables. REQUIRES: unacknowledged() is
  // 0.
  virtual void MoveTo(AgentSessionOwner* owner, KeptSessions* kept, Wills* wills) = 0;

  // Puts a command for the device into the output.
  virtual CommandStart Command(uint64_t id, std::string_view topic, std::string_view payload,
                               uint8_t qos) = 0;

  // True if the device can currently receive a command.
  virtual bool listening() const = 0;

  // The local subscriber of this connection; null = it is none.
  virtual Subscriber* subscriber() { return nullptr; }
  // Returns the number of its filters.
  virtual size_t reads() const { return 0; }
  // Moves waiting packets into the output, if that is empty. REQUIRES: subscriber() is not null.
  virtual void TakeRecords() {}
  // AgentSessionOwner::Reads may have changed.
  virtual void OnRights() {}

  // Returns the longest silence that the device is allowed, µs; 0 = unlimited.
  virtual int64_t silence_limit_us() const = 0;

  // Handles the protocol's own timeouts. Called several times a second if ticks() is true.
  virtual void OnTime(int64_t now_us) = 0;
  virtual bool ticks() const { return true; }
  // The agent reads the device again after a pause, which is not a silence of the device.
  virtual void OnResumed() {}

  // Appends the protocol's message about the end of the connection, if it has one, to the output.
  virtual void SayGoodbye(AgentEnd end) = 0;

  // Appends the protocol's message that asks the device to connect to another server, if it has
  // one. The owner closes the connection next. `server`: its address, empty = any; at most
  // mqtt::kMostServerReferenceBytes.
  virtual void Redirect(std::string_view server) { (void)server; }

  // Publishes the will of the device now, and drops it: the gateway is about to stop.
  virtual void PublishWill() {}

  // Returns this session if its requests go to the request desk; otherwise null.
  virtual DeskSession* desk() { return nullptr; }

  // Returns the state of a session that outlives this connection; null = there is none.
  virtual mqtt::KeptSession* lasting() { return nullptr; }
  // The changes up to `ticket` are on disk. Returns true if no answer waits for a later ticket.
  virtual bool Saved(uint64_t ticket) {
    (void)ticket;
    return true;
  }

  // Called last, when the connection has ended. Returns true if the session outlives the
  // connection, and with it the commands that the device did not answer.
  virtual bool Finish(AgentEnd end) {
    (void)end;
    return false;
  }

  // Returns the records of the session that outlives the connection whose Acknowledge calls are
  // pending. A later session of the device gets them as EndLate calls. To be called once, after
  // Finish().
  virtual std::vector<mqtt::LatePublish> TakeLate() { return {}; }
  // Reports the end of a record of an earlier connection. Returns false if the connection must be
  // closed.
  virtual bool EndLate(const mqtt::LatePublish& late, mqtt::LateEnd end) {
    (void)late;
    (void)end;
    return true;
  }

  // The memory that it holds beyond sizeof; and the part of it for messages that are incomplete.
  virtual size_t memory_bytes() const = 0;
  virtual size_t buffered_bytes() const { return 0; }
  // The bytes received so far of an incomplete packet.
  virtual size_t partial_bytes() const { return 0; }
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_AGENT_SESSION_H_
