// The session of a CoAP connection whose requests go to the request desk.
#ifndef SEGANET_CORE_DEVICES_DESK_DESK_SESSION_H_
#define SEGANET_CORE_DEVICES_DESK_DESK_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/devices/agent_session.h"
#include "core/devices/desk/desk_topics.h"
#include "core/devices/desk/device_asks.h"
#include "core/devices/desk/forward_table.h"
#include "core/devices/desk/request_desk.h"
#include "core/protocol/coap/stream/stream_session.h"
#include "core/reception/desk_options.h"

namespace seganet {

class DeskSession;

// The worker's interface to its desk sessions.
class DeskHost {
 public:
  // A request of the peer. Returns kNone if the desk is full.
  virtual coap::Taker OnAsked(DeskSession* session, const coap::Asked& asked) = 0;
  // Returns the topic of a request that is a record at once; null for any other request.
  virtual DeskTopic* OnPost(DeskSession* session, const coap::Asked& asked) = 0;
  // A request of OnPost(), or of RecordOwn(), became a record.
  virtual void OnPostTaken() = 0;
  // A post is not safe yet: takes room for its payload. False if there is none.
  virtual bool TakeRoom(size_t bytes) = 0;
  virtual void GiveRoom(size_t bytes) = 0;
  // A post is safe.
  virtual void OnPosted(DeskTopic* topic, std::string_view payload) = 0;
  virtual void OnAskAnswer(uint64_t id, const coap::AskAnswer& answer) = 0;
  virtual void OnRecorded(uint32_t stage, uint64_t handle, DeskRecorded result) = 0;
  // The session has output outside of Feed().
  virtual void OnOutput(DeskSession* session) = 0;
  // The identity is over: the worker calls Forget().
  virtual void OnExpired(DeskSession* session) = 0;

 protected:
  ~DeskHost() = default;
};

// What JavaScript found out about a connection.
struct DeskIdentity {
  std::string device;
  std::string owner;          // '' = none
  int64_t until_us = kNever;  // CLOCK_MONOTONIC
  // Requests of the device, and to it, are forwarded until then, and its posts are records.
  int64_t forward_until_us = kNever;
};

// A request that waits until the desk has decided about earlier ones.
struct HeldRequest {
  uint64_t id = 0;  // this and the next two: of coap::Asked
  bool reuses_token = false;
  bool is_plain = false;
  DeskEvent event;
};

class DeskSession final : public AgentSession, public AskLink, private coap::Handler {
 public:
  // `note` is that of StreamPeer.
  // The options are those of the listener, `setup` has their part for the stream.
  DeskSession(DeskHost* host, AgentSessionOwner* owner, uint64_t connection,
              std::shared_ptr<const DeskOptions> options,
              std::shared_ptr<const coap::StreamSetup> setup, std::string address,
              std::string note);

  uint64_t connection() const { return connection_; }
  const std::string& device() const { return session_.device(); }
  const std::string& address() const { return address_; }
  const std::string& note() const { return note_; }
  const DeskOptions& options() const { return *options_; }
  // Why JavaScript ends the connection; '' = it does not.
  std::string end_reason;
  // The worker will send its output.
  bool is_queued = false;
  const DeskIdentity& identity() const { return identity_; }
  uint32_t stage() const { return owner_->stage(); }
  // Requests that JavaScript knows and has not answered, and those of them that are not settled.
  size_t asked() const { return session_.asked(); }
  size_t unsettled() const { return session_.unsettled(); }
  CloseReason close_reason() const { return session_.close_reason(); }

  // REQUIRES: no device, or the same one.
  void Identify(const DeskIdentity& identity);
  void Forget();
  bool Answer(std::string_view token, uint8_t code, coap::OptionValues options,
              std::string_view payload) {
    return session_.Answer(token, code, std::move(options), payload);
  }
  void Settle(std::string_view token) { session_.Settle(token); }
  bool AnswerOwn(std::string_view token, uint64_t id, uint8_t code, coap::OptionValues options,
                 std::string_view payload) {
    return session_.AnswerOwn(token, id, code, std::move(options), payload);
  }
  bool PassToDesk(std::string_view token, uint64_t id) { return session_.PassToDesk(token, id); }
  // Makes a record of a post that was held.
  bool RecordOwn(std::string_view token, uint64_t id, DeskTopic* topic, std::string_view payload);
  void EndOwn() { session_.EndOwn(); }

  // Requests of the peer that must not overtake those at the desk, oldest first.
  const std::list<HeldRequest>& held() const { return held_; }
  size_t held_bytes() const { return held_bytes_; }
  void Hold(HeldRequest request);
  // REQUIRES: held() is not empty.
  HeldRequest TakeHeld();

  // Who may use the device, beside its owner. Forget() ends all grants. False, and no effect, if
  // there are kMostGrants already.
  bool Grant(const std::string& owner, GrantRights rights);
  const std::vector<DeviceGrant>& grants() const { return grants_; }

  // Makes a record of the device. OnRecorded() reports its outcome. If `topic` is not null, the
  // record is a post to it.
  void Record(uint64_t handle, const IncomingRecord& record, DeskTopic* topic);
  // Bytes of room that posts hold until they are safe (DeskHost::TakeRoom).
  size_t post_room() const { return post_room_; }
  void SetHost(DeskHost* host) { host_ = host; }

  // AskLink
  coap::AskStart Ask(uint64_t id, const coap::RequestSpec& request) override {
    host_->OnOutput(this);
    return session_.Ask(id, request);
  }
  void Cancel(uint64_t id) override {
    host_->OnOutput(this);
    session_.Cancel(id);
  }

  // AgentSession
  CloseReason Feed(std::span<const uint8_t> bytes) override { return session_.Feed(bytes); }
  std::string_view output() const override { return session_.output(); }
  void ConsumeOutput(size_t n) override { session_.ConsumeOutput(n); }
  bool WantsPause() const override { return session_.WantsPause(); }
  void Acknowledge(uint64_t handle) override;
  bool Refuse(uint64_t handle) override;
  size_t unacknowledged() const override { return session_.unacknowledged() + records_.size(); }
  void MoveTo(AgentSessionOwner* owner, KeptSessions*, Wills*) override { owner_ = owner; }
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
  bool Finish(AgentEnd end) override;
  DeskSession* desk() override { return this; }
  size_t memory_bytes() const override {
    return session_.memory_bytes() + held_bytes_ + post_room_;
  }
  size_t buffered_bytes() const override { return session_.buffered_bytes(); }
  size_t partial_bytes() const override { return session_.partial_bytes(); }

 private:
  // A post that is not safe yet.
  struct Post {
    std::shared_ptr<DeskTopic> topic;  // null = the record is no post
    uint64_t number = 0;               // DeskTopic::taken
    std::string payload;
    size_t room = 0;
  };
  // A record of JavaScript that is not safe yet.
  struct Waiting {
    uint64_t handle = 0;
    uint32_t missing = 0;
    Post post;
  };
  Post KeepPost(DeskTopic* topic, std::string_view payload);
  void EndPost(const Post& post);
  void Publish(DeskTopic* topic, uint64_t number, std::string_view payload);
  void DropPost(const Post& post);

  // coap::Handler
  coap::Answer OnRecord(const coap::Incoming& incoming) override;
  void OnCommandAnswer(uint64_t id, uint8_t result) override;
  bool MayObserve(std::string_view device) override;
  void OnObserved(std::string_view device, bool on) override;
  coap::Taker OnAsked(const coap::Asked& asked) override { return host_->OnAsked(this, asked); }
  bool IsRecord(const coap::Asked& asked, coap::Incoming* record) override;
  void OnSafe(uint64_t handle) override;
  void OnAskAnswer(uint64_t id, const coap::AskAnswer& answer) override {
    host_->OnAskAnswer(id, answer);
  }

  DeskHost* host_;
  AgentSessionOwner* owner_;
  const uint64_t connection_;
  // All connections of the listener share these two.
  const std::shared_ptr<const DeskOptions> options_;
  const std::shared_ptr<const coap::StreamSetup> setup_;
  const std::string address_, note_;
  DeskIdentity identity_;
  coap::StreamSession session_;
  bool silent_ = false;  // did not answer a Ping
  std::vector<DeviceGrant> grants_;
  std::list<HeldRequest> held_;  // an empty one has no memory, unlike a deque
  size_t held_bytes_ = 0;
  // Records of JavaScript by their handle at the agent, which has the highest bit.
  std::map<uint64_t, Waiting> records_;
  uint64_t last_record_ = 0;
  std::unordered_map<uint64_t, Post> posts_;  // by handle at the stream session
  size_t post_room_ = 0;
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_DESK_DESK_SESSION_H_
