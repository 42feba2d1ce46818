// The session of a CoAP device over TCP or TLS.
#ifndef SEGANET_CORE_DEVICES_COAP_AGENT_SESSION_H_
#define SEGANET_CORE_DEVICES_COAP_AGENT_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/require.h"
#include "core/devices/agent_session.h"
#include "core/protocol/coap/stream/stream_session.h"

namespace seganet {

class CoapAgentSession final : public AgentSession, private coap::Handler {
 public:
  // The acceptor has answered the messages within the first `answered` bytes (coap::StreamPeek).
  CoapAgentSession(AgentSessionOwner* owner, std::shared_ptr<const coap::StreamSetup> setup,
                   const std::string& device, size_t answered);

  CloseReason Feed(std::span<const uint8_t> bytes) override;
  std::string_view output() const override { return session_.output(); }
  void ConsumeOutput(size_t n) override {
    SEGANET_REQUIRE(n <= output().size());
    session_.ConsumeOutput(n);
  }
  bool WantsPause() const override { return session_.WantsPause(); }
  void Acknowledge(uint64_t handle) override { session_.Acknowledge(handle); }
  size_t unacknowledged() const override { return session_.unacknowledged(); }
  void MoveTo(AgentSessionOwner* owner, KeptSessions*, Wills*) override {
    SEGANET_REQUIRE(unacknowledged() == 0);
    owner_ = owner;
  }
  CommandStart Command(uint64_t id, std::string_view topic, std::string_view payload,
                       uint8_t qos) override;
  bool listening() const override { return session_.listening(); }
  // The session detects silence itself with a Ping; after that, the limit is exceeded at once.
  int64_t silence_limit_us() const override { return silent_ ? 1 : 0; }
  void OnTime(int64_t now_us) override;
  void OnResumed() override {
    silent_ = false;
    session_.OnResumed();
  }
  void SayGoodbye(AgentEnd end) override;
  size_t memory_bytes() const override { return session_.memory_bytes(); }
  size_t buffered_bytes() const override { return session_.buffered_bytes(); }
  size_t partial_bytes() const override { return session_.partial_bytes(); }

 private:
  // coap::Handler
  coap::Answer OnRecord(const coap::Incoming& incoming) override;
  void OnCommandAnswer(uint64_t id, uint8_t result) override;
  bool MayObserve(std::string_view device) override;
  void OnObserved(std::string_view device, bool on) override;

  std::string_view Name(std::string_view device) const { return NameAt(owner_->source(), device); }

  AgentSessionOwner* owner_;
  const std::shared_ptr<const coap::StreamSetup> setup_;
  coap::StreamSession session_;
  bool connected_ = false;
  bool silent_ = false;  // did not answer a Ping
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_COAP_AGENT_SESSION_H_
