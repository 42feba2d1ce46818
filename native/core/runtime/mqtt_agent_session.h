// An MQTT device's session, for its agent.
#ifndef SEGANET_CORE_RUNTIME_MQTT_AGENT_SESSION_H_
#define SEGANET_CORE_RUNTIME_MQTT_AGENT_SESSION_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "core/protocol/mqtt/server_session.h"
#include "core/runtime/agent_session.h"

namespace seganet {

class MqttAgentSession : public AgentSession, private mqtt::Handler {
 public:
  MqttAgentSession(AgentSessionOwner* owner, const mqtt::Limits& limits)
      : owner_(owner), session_(this, limits) {}

  CloseReason Feed(std::span<const uint8_t> bytes) override { return session_.Feed(bytes); }
  std::string_view output() const override { return session_.output(); }
  void ConsumeOutput(size_t n) override { session_.ConsumeOutput(n); }
  bool WantsPause() const override { return session_.WantsPause(); }
  void Acknowledge(uint64_t slot) override { session_.AcknowledgeSlot(slot); }
  CommandStart Command(uint64_t id, std::string_view topic, std::string_view payload,
                       uint8_t qos) override;
  bool listening() const override { return false; }
  int64_t silence_limit_us() const override { return int64_t{session_.keep_alive_s()} * 1'500'000; }
  void OnTime(int64_t) override {}
  void SayGoodbye(AgentEnd) override {}
  size_t memory_bytes() const override { return session_.memory_bytes(); }
  size_t buffered_bytes() const override { return session_.buffered_bytes(); }

 private:
  // mqtt::Handler
  mqtt::ConnectCode OnConnect(const mqtt::Connect& connect,
                              std::unique_ptr<mqtt::KeptSession>* kept) override;
  void OnPublish(const mqtt::Publish& publish) override;

  AgentSessionOwner* const owner_;
  mqtt::ServerSession session_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_MQTT_AGENT_SESSION_H_
