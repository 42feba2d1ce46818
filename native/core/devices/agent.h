// An agent: one device's connection, living on the worker that owns the device.
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

#include "core/base/clock.h"
#include "core/devices/agent_session.h"
#include "core/devices/receipt_table.h"
#include "core/loop/time_wheel.h"
#include "core/plan/permissions.h"
#include "core/plan/plan.h"

namespace seganet {

class Agent;
struct Device;

// What of an agent goes with its device to another worker.
struct AgentParts {
  int fd = -1;
  uint32_t stage = 0;
  std::string device_id;
  std::string address;
  std::unique_ptr<AgentSession> session;
  int64_t last_seen_us = 0;
  uint8_t latest_class = 0;
  bool proven = false;       // Agent::proven
  Device* device = nullptr;  // its row, which goes with it
};

// The worker, as its agents see it.
class AgentHost {
 public:
  virtual ~AgentHost() = default;

  // Asked before each read. False: the agent is to stop polling until Agent::Resume.
  virtual bool MayRead(Agent* agent) = 0;
  // Scratch memory for the agent's next read, shared by all of the worker.
  virtual std::span<uint8_t> read_buffer(const Agent& agent) = 0;
  // Returns when that was, CLOCK_MONOTONIC.
  virtual int64_t OnRead(size_t bytes) = 0;
  // What it holds of a packet that has not come in full is `bytes` now; `is_new` when that is
  // another packet than before.
  virtual void OnBuffered(Agent* agent, size_t bytes, bool is_new) = 0;
  // The device may have more to read, which has to wait for the next turn of the loop.
  virtual void OnTurnUsedUp() = 0;
  // Whether the device is accepted.
  virtual Admission OnConnect(Agent* agent, std::string_view device) = 0;
  virtual RecordAnswer OnRecord(Agent* agent, const IncomingRecord& record) = 0;
  virtual bool MayPublish(Agent* agent, std::string_view topic) = 0;
  virtual bool MaySubscribe(Agent* agent, std::string_view filter) = 0;
  virtual void OnTopicRefused() = 0;
  virtual void OnControl(Agent* agent) = 0;
  virtual void OnListening(Agent* agent) = 0;
  virtual void OnCommandAnswer(Agent* agent, uint64_t id, bool taken) = 0;
  // The last call about this agent, which is deleted afterwards.
  virtual void OnClosed(Agent* agent, AgentEnd end) = 0;
  // Its socket, which nothing polls any more, and which becomes the host's to close.
  virtual void OnDescriptor(int fd, AgentEnd end) = 0;
};

// Thread safety: owned by one worker. Deletes itself when its handle is closed.
class Agent final : public ReceiptHolder, public TimeWheel::Item, private AgentSessionOwner {
 public:
  // `proven`: the device has proved its id to the reception.
  Agent(AgentHost* host, uv_loop_t* loop, int fd, uint32_t stage, std::string device_id,
        std::string address, bool proven);
  // Goes on with a connection that was another worker's: Resume follows. REQUIRES: connected.
  Agent(AgentHost* host, uv_loop_t* loop, AgentParts parts);
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // What sessions are made for.
  AgentSessionOwner* owner() { return this; }

  // REQUIRES: before Start.
  void SetSession(std::unique_ptr<AgentSession> session) { session_ = std::move(session); }
  AgentSession& session() { return *session_; }

  // Works on what the acceptor has read, then reads on by itself. May end in OnClosed.
  void Start(std::string_view bytes);

  // Reads again after MayRead said no.
  void Resume();

  // ReceiptHolder
  void Acknowledge(uint64_t slot) override { session_->Acknowledge(slot); }
  // The end of the connection is what every protocol's device understands: it sends again.
  void Withhold(uint64_t) override { Close(AgentEnd::kNotTaken); }
  // Sends what waits to be sent.
  void Flush() override;

  // Ends the connection.
  void Close(AgentEnd end);
  // Instead, when the rest of a packet does not come.
  void CloseUnfinished() {
    close_reason_ = CloseReason::kUnfinished;
    Close(AgentEnd::kTooMuch);
  }

  // Closes it when the device has been silent for too long. Returns when it has to be called again,
  // kNever = not at all.
  int64_t OnTime(int64_t now_us);

  // Gives up the connection, which another worker goes on with; the agent is deleted. The host is
  // not told. REQUIRES: connected, and nothing is unacknowledged.
  AgentParts Leave();

  const std::string& device_id() const override { return device_id_; }
  const std::string& address() const { return address_; }
  uint32_t stage() const override { return stage_; }
  const SourceSettings& source() const override { return *settings; }
  bool proven() const { return proven_; }
  bool listening() const { return connected_ && session_->listening(); }
  int64_t last_seen_us() const { return last_seen_us_; }
  CloseReason close_reason() const { return close_reason_; }
  bool connected() const { return connected_; }
  bool closing() const { return closing_; }
  // False: what it sends stays where it is.
  bool is_read() const { return events_ != 0; }

  Device* device = nullptr;  // set by the host in OnConnect
  // Kept by the host: how its source treats devices, and what it allows this one (null =
  // everything).
  const SourceSettings* settings = nullptr;
  std::unique_ptr<const DevicePermissions> permissions;
  // The same, 0 = none: the class that the device is registered with; that of the latest record of
  // this connection; that among whose agents it waits to be read, kPausedByRate for its rate.
  uint8_t registered_class = 0;
  uint8_t latest_class = 0;
  uint8_t paused = 0;
  static constexpr uint8_t kPausedByRate = UINT8_MAX;
  static constexpr uint8_t kPausedByMove = UINT8_MAX - 1;  // its slot is about to leave the worker
  int64_t paused_until_us = 0;
  // Kept by the host: what was counted for OnBuffered, since when, and the place in its list.
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
  void OnTopicRefused() override { host_->OnTopicRefused(); }
  void OnControl() override { host_->OnControl(this); }
  void OnListening() override { host_->OnListening(this); }
  void OnCommandAnswer(uint64_t id, bool taken) override {
    host_->OnCommandAnswer(this, id, taken);
  }

  void Poll(int events);
  void OnReadable();
  bool Feed(std::span<const uint8_t> bytes);
  bool SendOutput();

  AgentHost* const host_;
  const int fd_;
  const uint32_t stage_;
  const std::string device_id_;
  const std::string address_;
  const bool proven_;
  std::unique_ptr<AgentSession> session_;
  uv_poll_t poll_;
  int64_t last_seen_us_;
  CloseReason close_reason_ = CloseReason::kNone;
  int events_ = 0;  // what is polled for
  bool connected_ = false;
  bool closing_ = false;
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_AGENT_H_
