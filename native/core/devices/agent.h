// An agent: the connection of one device, on the worker that owns the device.
#ifndef SEGANET_CORE_DEVICES_AGENT_H_
#define SEGANET_CORE_DEVICES_AGENT_H_

#include <uv.h>

#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/require.h"
#include "core/devices/agent_session.h"
#include "core/devices/receipt_table.h"
#include "core/loop/time_wheel.h"
#include "core/loop/token_bucket.h"
#include "core/loop/urgency.h"
#include "core/plan/bridges.h"
#include "core/plan/permissions.h"
#include "core/plan/plan.h"

namespace seganet {

class Agent;
struct Device;

// The state of an agent that moves to another worker with its device.
struct MovedAgent {
  int fd = -1;
  uint32_t stage = 0;
  std::string device_id;
  std::string address;
  std::unique_ptr<AgentSession> session;
  int64_t last_seen_us = 0;
  uint8_t latest_class = 0;
  bool proven = false;       // Agent::proven
  Device* device = nullptr;  // its row, which moves with it; null = not connected yet
};

// The interface of a worker to its agents.
class AgentHost {
 public:
  virtual ~AgentHost() = default;

  // Called before each read. Returns false if the agent must stop polling until Agent::Resume.
  virtual bool MayRead(Agent* agent) = 0;
  // Returns scratch memory for the agent's next read, which all agents of the worker share.
  virtual std::span<uint8_t> read_buffer(const Agent& agent) = 0;
  // Called after each read of `bytes`. Returns the time of the read, CLOCK_MONOTONIC.
  virtual int64_t OnRead(size_t bytes) = 0;
  // The agent now holds `bytes` of an incomplete packet. `is_new`: it is another packet than
  // before.
  virtual void OnBuffered(Agent* agent, size_t bytes, bool is_new) = 0;
  // The agent used up its turn. The device may have more to read, which waits for the loop's next
  // turn.
  virtual void OnTurnUsedUp() = 0;
  // Agent::waits_for_data may have changed.
  virtual void OnPolled(Agent* agent) = 0;
  // Returns whether the device is accepted.
  virtual Admission OnConnect(Agent* agent, std::string_view device) = 0;
  virtual RecordAnswer OnRecord(Agent* agent, const IncomingRecord& record) = 0;
  virtual bool MayPublish(Agent* agent, std::string_view topic) = 0;
  virtual bool MaySubscribe(Agent* agent, std::string_view filter) = 0;
  virtual void OnSubscriber(Agent* agent, Subscriber* subscriber) = 0;
  virtual void OnValuesAsked(const std::shared_ptr<const Interest>& interest) = 0;
  virtual void OnTopicRefused() = 0;
  virtual void OnControl(Agent* agent) = 0;
  virtual void OnListening(Agent* agent) = 0;
  virtual void OnCommandAnswer(Agent* agent, uint64_t id, bool taken) = 0;
  // The last call for this agent, which is deleted afterwards.
  virtual void OnClosed(Agent* agent, AgentEnd end) = 0;
  // Called after OnClosed with the agent's socket, which nothing polls now. The host owns the
  // socket and closes it.
  virtual void OnDescriptor(int fd, AgentEnd end) = 0;
};

// Thread safety: owned by one worker. Deletes itself when its handle is closed.
class Agent final : public ReceiptHolder, public TimeWheel::Item, private AgentSessionOwner {
 public:
  // `proven`: a login, a certificate or a key has proven the device's id.
  Agent(AgentHost* host, uv_loop_t* loop, int fd, uint32_t stage, std::string device_id,
        std::string address, bool proven);
  // Continues a connection of another worker. The caller calls Resume next. REQUIRES: `moved` comes
  // from Leave().
  Agent(AgentHost* host, uv_loop_t* loop, MovedAgent moved);
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // The owner argument of the agent's session.
  AgentSessionOwner* owner() { return this; }

  // REQUIRES: called once, before Start.
  void SetSession(std::unique_ptr<AgentSession> session) {
    SEGANET_REQUIRE(session_ == nullptr);
    session_ = std::move(session);
  }
  AgentSession& session() { return *session_; }

  // Processes the bytes that the acceptor has read, then reads further by itself. May end in
  // OnClosed.
  void Start(std::string_view bytes);

  // Continues to read after MayRead returned false.
  void Resume();

  // ReceiptHolder
  void Acknowledge(uint64_t handle) override { session_->Acknowledge(handle); }
  // Closes the connection: every protocol's devices send the record again after that.
  void Withhold(uint64_t handle) override {
    session_->GiveUp(handle);
    Close(AgentEnd::kNotTaken);
  }
  // Closes the connection if the protocol has no refusal for a record.
  void Refuse(uint64_t handle) override {
    if (!session_->Refuse(handle)) Withhold(handle);
  }
  // Sends pending output.
  void Flush() override;

  // Sends records that wait for the local subscriber. REQUIRES: the session has one.
  void TakeRecords();

  // Closes the connection.
  void Close(AgentEnd end);
  // Closes the connection because the rest of a packet does not arrive.
  void CloseUnfinished() {
    close_reason_ = CloseReason::kUnfinished;
    Close(AgentEnd::kTooMuch);
  }

  // Closes the connection if the device has been silent for too long. Returns when it must be
  // called again; kNever = not again.
  int64_t OnTime(int64_t now_us);

  // Gives up the connection for another worker to continue, and deletes the agent without a call to
  // the host. REQUIRES: nothing is unacknowledged.
  MovedAgent Leave();

  // The connection has proven to be `device_id`. Asks the host for admission.
  // REQUIRES: not connected, and not closing.
  Admission Identify(std::string device_id);
  // The connection no longer has a device.
  void Forget();
  // Closes the connection if its session has found a reason outside of Feed.
  void CloseFor(CloseReason reason);

  const std::string& device_id() const override { return device_id_; }
  const std::string& address() const { return address_; }
  uint32_t stage() const override { return stage_; }
  const SourceSettings& source() const override { return *settings; }
  TokenRate rate() const { return {settings->rate, settings->burst}; }
  bool proven() const { return proven_; }
  bool listening() const { return connected_ && session_->listening(); }
  int64_t last_seen_us() const { return last_seen_us_; }
  CloseReason close_reason() const { return close_reason_; }
  bool connected() const { return connected_; }
  bool closing() const { return closing_; }
  // False if the device's data is left in the socket.
  bool is_read() const { return events_ != 0; }
  // True if data from the device wakes the worker.
  bool waits_for_data() const { return (events_ & UV_READABLE) != 0; }
  int fd() const { return fd_; }

  Device* device = nullptr;  // set by the host in OnConnect
  // Set by the host: the settings of its source, and what the source permits this device (null =
  // everything).
  const SourceSettings* settings = nullptr;
  std::unique_ptr<const DevicePermissions> permissions;
  // Set by the host: where messages name the devices behind this one; null = it is no bridge.
  std::unique_ptr<const BridgeRows> bridge_rows;
  // Set by the host: SourceSettings::subscribers of this client; empty = it is no local subscriber.
  std::vector<std::string> readable;
  // Set by the host, 0 = none: the class that the device is registered with; the class of the
  // latest record of this connection; the class among whose paused agents it waits to be read, or a
  // kPaused… value.
  uint8_t registered_class = 0;
  uint8_t latest_class = 0;
  uint8_t paused = 0;
  static constexpr uint8_t kPausedByRate = UINT8_MAX;      // until paused_until_us
  static constexpr uint8_t kPausedByMove = UINT8_MAX - 1;  // its slot is about to leave the worker
  static constexpr uint8_t kPausedByFlow = UINT8_MAX - 2;  // too many records wait for a flow
  int64_t paused_until_us = 0;
  Urgency urgency;  // set by the host's UrgentAgents
  // Set by the host: the bytes counted for OnBuffered, since when, and the agent's place in the
  // host's list.
  size_t unfinished = 0;
  int64_t unfinished_us = 0;
  std::list<Agent*>::iterator unfinished_place;

 private:
  ~Agent() = default;

  // AgentSessionOwner
  Admission OnConnect() override;
  RecordAnswer OnRecord(const IncomingRecord& record) override;
  bool MayPublish(std::string_view topic) override { return host_->MayPublish(this, topic); }
  bool MaySubscribe(std::string_view filter) override { return host_->MaySubscribe(this, filter); }
  bool Reads(std::string_view filter) const override;
  void OnSubscriber(Subscriber* subscriber) override { host_->OnSubscriber(this, subscriber); }
  void OnValuesAsked(const std::shared_ptr<const Interest>& interest) override {
    host_->OnValuesAsked(interest);
  }
  void OnTopicRefused() override { host_->OnTopicRefused(); }
  void OnControl() override { host_->OnControl(this); }
  void OnListening() override { host_->OnListening(this); }
  void OnCommandAnswer(uint64_t id, bool taken) override {
    host_->OnCommandAnswer(this, id, taken);
  }

  void Poll(int events);
  // The device was not read, which is not a silence of the device.
  void EndPause();
  void OnReadable();
  bool Feed(std::span<const uint8_t> bytes);
  bool SendOutput();
  int EventsToSend() const;

  AgentHost* const host_;
  const int fd_;
  const uint32_t stage_;
  std::string device_id_;
  const std::string address_;
  bool proven_;
  std::unique_ptr<AgentSession> session_;
  uv_poll_t poll_;
  int64_t last_seen_us_;
  CloseReason close_reason_ = CloseReason::kNone;
  int events_ = 0;  // polled for
  bool connected_ = false;
  bool closing_ = false;
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_AGENT_H_
