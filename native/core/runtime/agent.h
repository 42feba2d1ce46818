// An agent: one device's connection, living on the worker that owns the device.
#ifndef SEGANET_CORE_RUNTIME_AGENT_H_
#define SEGANET_CORE_RUNTIME_AGENT_H_

#include <uv.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "core/protocol/mqtt/server_session.h"

namespace seganet {

class Agent;
struct Device;

enum class AgentEnd {
  kClosed,     // by the device, or the network
  kProtocol,   // Agent::close_reason() tells
  kKeepAlive,  // silent for 1.5 times its keep-alive [MQTT-3.1.2-24]
  kTakenOver,  // a new connection with the same client id [MQTT-3.1.4-2]
  kStopped,    // the listener or the engine ends
};

// The worker, as its agents see it.
class AgentHost {
 public:
  virtual ~AgentHost() = default;

  // Asked before each read. False: the agent is to stop polling until Agent::Resume.
  virtual bool MayRead(Agent* agent) = 0;
  // Scratch memory for reads, shared by all agents of the worker.
  virtual std::span<uint8_t> read_buffer() = 0;
  virtual void OnRead(size_t bytes) = 0;
  // The device may have more to read, which has to wait for the next turn of the loop.
  virtual void OnTurnUsedUp() = 0;
  // The device is accepted; false = no room for it.
  virtual bool OnConnect(Agent* agent, std::string_view device) = 0;
  // Returns how many acknowledgements of the record the host will bring (Agent::Acknowledge).
  virtual uint32_t OnRecord(Agent* agent, const mqtt::Publish& publish) = 0;
  // The last call about this agent, which is deleted afterwards.
  virtual void OnClosed(Agent* agent, AgentEnd end) = 0;
};

// Thread safety: owned by one worker. Deletes itself when its handle is closed.
class Agent : private mqtt::Handler {
 public:
  Agent(AgentHost* host, uv_loop_t* loop, const mqtt::Limits& limits, int fd, uint32_t stage,
        std::string device_id);
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Works on what the acceptor has read, then reads on by itself. May end in OnClosed.
  void Start(std::string_view bytes);

  // Reads again after MayRead said no.
  void Resume();

  // A copy of the record in `slot` is safe. The PUBACK leaves with the next Flush.
  void Acknowledge(uint64_t slot) { session_.AcknowledgeSlot(slot); }

  // Sends what waits to be sent.
  void Flush();

  // Ends the connection.
  void Close(AgentEnd end);

  // Closes it when the device has been silent for too long.
  void CheckKeepAlive(int64_t now_us);

  const std::string& device_id() const { return device_id_; }
  uint32_t stage() const { return stage_; }
  CloseReason close_reason() const { return close_reason_; }
  bool connected() const { return connected_; }
  bool closing() const { return closing_; }

  Device* device = nullptr;  // set by the host in OnConnect
  // Kept by the host, 0 = none: the class that the device is registered with; that of the latest
  // record of this connection; that among whose agents it waits to be read.
  uint8_t registered_class = 0;
  uint8_t latest_class = 0;
  uint8_t paused = 0;
  uint32_t row = 0;  // in the host's table of agents
  uint32_t life = 0;
  bool dirty = false;  // kept by the host: has to be flushed

 private:
  ~Agent() override = default;

  // mqtt::Handler
  mqtt::ConnectCode OnConnect(const mqtt::Connect& connect) override;
  void OnPublish(const mqtt::Publish& publish) override;

  void Poll(int events);
  void OnReadable();
  bool Feed(std::span<const uint8_t> bytes);
  bool SendOutput();

  AgentHost* const host_;
  const int fd_;
  const uint32_t stage_;
  const std::string device_id_;
  mqtt::ServerSession session_;
  uv_poll_t poll_;
  int64_t last_seen_us_;
  CloseReason close_reason_ = CloseReason::kNone;
  int events_ = 0;  // what is polled for
  bool connected_ = false;
  bool closing_ = false;
};

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_AGENT_H_
