// The session of an MQTT device.
#ifndef SEGANET_CORE_DEVICES_MQTT_AGENT_SESSION_H_
#define SEGANET_CORE_DEVICES_MQTT_AGENT_SESSION_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/require.h"
#include "core/devices/agent_session.h"
#include "core/devices/kept_sessions.h"
#include "core/devices/subscribers/subscribers.h"
#include "core/devices/wills.h"
#include "core/plan/plan.h"
#include "core/protocol/mqtt/server_session.h"

namespace seganet {

// Returns the protocol limits of a source's devices. max_packet_bytes and odd_topics are the
// engine's.
mqtt::Limits MqttLimitsOf(const SourceSettings& source, size_t max_packet_bytes,
                          bool odd_topics = false);

class MqttAgentSession : public AgentSession, private mqtt::Handler {
 public:
  // `kept` and `wills` are the worker's, and `subscribers` the engine's. All outlive the session.
  MqttAgentSession(AgentSessionOwner* owner, const mqtt::Limits& limits, KeptSessions* kept,
                   Wills* wills, Subscribers* subscribers)
      : owner_(owner),
        limits_(limits),
        kept_(kept),
        wills_(wills),
        subscribers_(subscribers),
        session_(this, limits) {}
  ~MqttAgentSession() override { CloseSubscriber(); }

  // See mqtt::ServerSession::SetAssignedId.
  void SetAssignedId(std::string id) { session_.SetAssignedId(std::move(id)); }

  CloseReason Feed(std::span<const uint8_t> bytes) override {
    const CloseReason reason = session_.Feed(bytes);
    if (!asking_.empty()) AskForValues();
    return not_taken_ ? CloseReason::kNotTaken : reason;
  }
  std::string_view output() const override { return session_.output(); }
  void ConsumeOutput(size_t n) override {
    SEGANET_REQUIRE(n <= output().size());
    session_.ConsumeOutput(n);
    if (subscriber_ != nullptr) TakeRecords();
  }
  bool WantsPause() const override { return session_.WantsPause(); }
  void Acknowledge(uint64_t handle) override { session_.AcknowledgePublish(handle); }
  bool Refuse(uint64_t handle) override { return session_.FailPublish(handle); }
  void GiveUp(uint64_t handle) override;
  size_t unacknowledged() const override {
    return session_.unacknowledged() + session_.unsaved_answers();
  }
  void MoveTo(AgentSessionOwner* owner, KeptSessions* kept, Wills* wills) override {
    SEGANET_REQUIRE(unacknowledged() == 0);
    session_.ForgetTicket();
    owner_ = owner;
    kept_ = kept;
    wills_ = wills;
  }
  CommandStart Command(uint64_t id, std::string_view topic, std::string_view payload,
                       uint8_t qos) override;
  bool listening() const override { return session_.listening(); }
  Subscriber* subscriber() override { return subscriber_.get(); }
  size_t reads() const override { return interests_.size(); }
  void TakeRecords() override;
  void OnRights() override { FollowFilters(); }
  int64_t silence_limit_us() const override;
  void OnTime(int64_t) override {}
  bool ticks() const override { return false; }
  void SayGoodbye(AgentEnd end) override;
  void Redirect(std::string_view server) override {
    session_.Disconnect(mqtt::reason::kUseAnotherServer, server);
  }
  void PublishWill() override;
  mqtt::KeptSession* lasting() override { return session_.lasting(); }
  bool Saved(uint64_t ticket) override {
    session_.Saved(ticket);
    if (!asking_.empty()) AskForValues();
    return session_.unsaved_answers() == 0;
  }
  bool Finish(AgentEnd end) override;
  std::vector<mqtt::LatePublish> TakeLate() override { return std::move(late_); }
  bool EndLate(const mqtt::LatePublish& late, mqtt::LateEnd end) override {
    return session_.EndLate(late, end);
  }
  size_t memory_bytes() const override { return session_.memory_bytes(); }
  size_t buffered_bytes() const override { return session_.buffered_bytes(); }
  size_t partial_bytes() const override { return session_.partial_bytes(); }

 private:
  // mqtt::Handler
  mqtt::ConnectCode OnConnect(const mqtt::Connect& connect,
                              std::unique_ptr<mqtt::KeptSession>* kept) override;
  void OnPublish(const mqtt::Publish& publish) override;
  mqtt::Grant OnSubscribe(const mqtt::Filter& filter) override;
  void OnFilters() override { FollowFilters(); }
  void OnRefusedPublish(uint8_t code) override {
    if (code == mqtt::reason::kTopicNameInvalid) owner_->OnTopicRefused();
  }
  void OnSubscribed() override {
    FollowFilters();  // of a session that continues
    owner_->OnListening();
  }
  void OnControl() override { owner_->OnControl(); }
  uint64_t OnSessionChanged() override { return kept_->saves().Await(owner_->device_id()); }
  bool IsSaved(uint64_t ticket) override {
    return kept_->saves().IsSavedOrAwait(ticket, owner_->device_id());
  }
  void OnCommandAnswer(uint64_t id, uint8_t code) override {
    owner_->OnCommandAnswer(id, code < mqtt::reason::kUnspecified);
  }

  bool OpenSubscriber();
  void CloseSubscriber();
  void FollowFilters();
  void AskForValues();
  void RefuseOrEnd(uint64_t handle, uint8_t code);
  void EndUntaken(uint64_t handle);
  std::string SourceName() const;
  std::unique_ptr<mqtt::KeptSession> Resume(const mqtt::Connect& connect);
  uint8_t ClassSaid(const mqtt::Properties& properties) const;
  WillRecord RecordOf(const mqtt::Will& will) const;

  AgentSessionOwner* owner_;
  const mqtt::Limits limits_;
  KeptSessions* kept_;
  Wills* wills_;
  Subscribers* const subscribers_;
  mqtt::ServerSession session_;
  std::vector<mqtt::LatePublish> late_;     // between Finish() and TakeLate()
  bool not_taken_ = false;                  // a record was not taken; the connection ends
  std::shared_ptr<Subscriber> subscriber_;  // null until the client subscribes to records
  Interests interests_;                     // its subscriptions to records
  std::vector<std::string> asking_;         // filters whose last values follow the SUBACK
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_MQTT_AGENT_SESSION_H_
