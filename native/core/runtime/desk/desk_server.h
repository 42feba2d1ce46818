// The request desk's connections of one worker: their identities, the requests of their peers, and
// requests to their devices.
#ifndef SEGANET_CORE_RUNTIME_DESK_DESK_SERVER_H_
#define SEGANET_CORE_RUNTIME_DESK_DESK_SERVER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/clock.h"
#include "core/base/counters.h"
#include "core/devices/agent.h"
#include "core/devices/agent_session.h"
#include "core/devices/agent_transfer.h"
#include "core/devices/desk/desk_session.h"
#include "core/devices/desk/device_asks.h"
#include "core/devices/desk/forward_table.h"
#include "core/devices/desk/request_desk.h"
#include "core/devices/device_table.h"
#include "core/loop/loop_thread.h"
#include "core/protocol/coap/exchange.h"
#include "core/reception/acceptor.h"
#include "core/reception/stream_setups.h"
#include "core/runtime/desk/desk_connections.h"
#include "core/runtime/desk/desk_forwarding.h"
#include "core/runtime/desk/desk_posts.h"
#include "core/runtime/desk/desk_requests.h"

namespace seganet {

// A connection that moves to the worker of its device.
struct DeskParcel {
  MovedAgent agent;
  DeskIdentity identity;
};

// A request of a connection, by its token.
struct DeskAddressee {
  uint64_t connection = 0;
  std::string token;
};

// An answer to several requests.
struct DeskReply {
  uint8_t code = 0;
  coap::OptionValues options;
  std::string payload;
};

// The dependencies of a DeskServer. All objects outlive it.
struct DeskServerContext {
  LoopThread* thread;  // the worker
  uint32_t worker;     // its index
  uint32_t workers;    // of the engine
  size_t max_packet_bytes;
  RequestDesk* desk;
  CounterBlock* counters;
  Now* now;  // time of the current turn
  const DeviceTable* devices;
  StreamSetups* setups;
  std::atomic<uint32_t>* adopting;    // connections on the way to this worker
  std::atomic<int64_t>* connections;  // open sockets of the engine
  // Passes a connection, or null if it is closed, to the worker that expects it.
  std::function<void(uint32_t worker, uint64_t connection, std::shared_ptr<DeskParcel>)> arrive;
  // DeskForwardingContext::at_worker
  std::function<void(uint32_t worker, std::function<void(DeskForwarding*)> task)> at_worker;
};

// JavaScript is the only thread that uses the desk, and it posts an operation to the worker that
// has the connection, so operations keep their order. When an identity moves a connection,
// JavaScript posts later operations to the new worker at once; they wait there for the connection
// (Expect).
//
// Thread safety: the operations from any thread; everything else from the worker's thread. posts()
// as DeskPosts says.
class DeskServer final : private DeskHost {
 public:
  // The interface of the worker.
  class Owner : public AgentTransfer {
   public:
    // The device of the agent's connection has changed: looks up its registration again.
    virtual void Register(Agent* agent) = 0;
    // The agent's device no longer has this connection.
    virtual void Disconnected(Agent* agent) = 0;

   protected:
    ~Owner() = default;
  };

  DeskServer(Owner* owner, const DeskServerContext& context);
  DeskServer(const DeskServer&) = delete;
  DeskServer& operator=(const DeskServer&) = delete;

  // The operations: Engine documents these. No effect for a connection that is closed.
  void Answer(uint64_t connection, std::string token, uint8_t code, coap::OptionValues options,
              std::string payload);
  void AnswerAll(std::vector<DeskAddressee> to, std::shared_ptr<const DeskReply> reply);
  // `post`: id of a topic that the record is a post to, 0 = none.
  void Record(uint64_t connection, uint64_t handle, std::string topic, std::string payload,
              uint8_t record_class, uint64_t post);
  void Forget(uint64_t connection, std::string reason);
  void Close(uint64_t connection, std::string reason);
  void Settle(uint64_t connection, const std::string& token);
  void Grant(uint64_t connection, const std::string& owner, GrantRights rights);
  void AskDevice(DeviceAsk ask);
  void CancelAsk(uint64_t handle);
  // Identifies a connection and passes it to worker `to`. REQUIRES: if that is another worker,
  // Expect was called there.
  void Identify(uint64_t connection, DeskIdentity identity, uint32_t to);
  // Operations for the connection wait until Arrive.
  void Expect(uint64_t connection);
  // Takes over a connection that was expected; null = it is closed. False if the thread has ended.
  bool Arrive(uint64_t connection, const std::shared_ptr<DeskParcel>& parcel);
  DeskPosts& posts() { return posts_; }

  // Returns the session of a new connection. REQUIRES: handoff.desk is not null.
  std::unique_ptr<AgentSession> MakeSession(Agent* agent, const Handoff& handoff);
  // The agent of a session closes.
  void OnClosed(DeskSession* session, AgentEnd end);
  // Sends what the calls since the last one have produced. May close connections.
  void Flush() { connections_.Flush(); }
  // Ends what has waited for too long. To be called several times a second.
  void Sweep(int64_t now_us);
  // Ends all requests to devices, because the worker stops.
  void EndAsks() { asks_.EndAll(); }

  bool empty() const { return connections_.empty(); }
  DeskForwarding& forwarding() { return forwarding_; }
  // Calls see(device) for each device with a connection or a request, for some more than once.
  template <typename See>
  void ForEachDevice(See&& see) const {
    asks_.ForEachDevice(see);
    connections_.ForEach([&see](const DeskSession& session) {
      if (!session.device().empty()) see(std::string_view(session.device()));
    });
  }

 private:
  using Operation = std::function<void(DeskConnection*)>;

  // DeskHost
  coap::Taker OnAsked(DeskSession* session, const coap::Asked& asked) override {
    return requests_.OnAsked(session, asked);
  }
  DeskTopic* OnPost(DeskSession* session, const coap::Asked& asked) override {
    return requests_.OnPost(*session, asked);
  }
  void OnPostTaken() override { context_.counters->Add(Counter::kRequestsRecorded); }
  bool TakeRoom(size_t bytes) override { return posts_.TakeRoom(bytes); }
  void GiveRoom(size_t bytes) override { posts_.GiveRoom(bytes); }
  void OnPosted(DeskTopic* topic, std::string_view payload) override {
    posts_.Keep(topic, payload);
  }
  void OnAskAnswer(uint64_t id, const coap::AskAnswer& answer) override {
    asks_.Answered(id, answer);
  }
  void OnRecorded(uint32_t stage, uint64_t handle, DeskRecorded result) override {
    context_.desk->Recorded(stage, handle, result);
  }
  void OnOutput(DeskSession* session) override { connections_.QueueOutput(session); }
  void OnExpired(DeskSession* session) override;

  void PostOperation(uint64_t connection, Operation operation);
  void Run(uint64_t connection, const Operation& operation);
  void RunPosted(uint64_t connection, const Operation& operation);
  void Reply(DeskConnection* to, std::string_view token, uint8_t code,
             const coap::OptionValues& options, std::string_view payload);
  void AddUnidentified(DeskConnection* connection);
  void Dismiss(const DeskConnection& connection, const std::string& reason);
  void EndIdentity(DeskConnection* connection, const std::string& reason);
  void SetIdentity(DeskConnection* connection, const DeskIdentity& identity);
  void SetUp(DeskConnection* connection, int64_t now_us);
  std::shared_ptr<DeskParcel> TakeOut(uint64_t number, const DeskIdentity& identity);
  void Enter(uint64_t number, DeskParcel* parcel, const std::vector<Operation>& operations);

  Owner* const owner_;
  const DeskServerContext context_;
  DeskConnections connections_;
  std::unordered_map<uint64_t, std::vector<Operation>> expected_;  // by connection
  DeviceAsks asks_;
  DeskPosts posts_;
  DeskForwarding forwarding_;
  DeskRequests requests_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_DESK_DESK_SERVER_H_
