#include "core/runtime/desk/desk_server.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/base/require.h"

namespace seganet {
namespace {

// Longest wait for the answer to a sign-in before the device gets requests.
constexpr int64_t kSetUpUs = 1'000'000;
// Output of a connection that does not wait for the end of the turn: far below the limit above
// which a peer counts as one that does not read.
constexpr size_t kMostHeldOutput = 64 << 10;

const char* DeskReason(AgentEnd end) {
  switch (end) {
    case AgentEnd::kProtocol:
    case AgentEnd::kTooMuch:
      return "protocol";
    case AgentEnd::kKeepAlive:
      return "silent";
    case AgentEnd::kTakenOver:
      return "takenOver";
    case AgentEnd::kStopped:
      return "stopped";
    case AgentEnd::kNotTaken:
      return "notTaken";
    case AgentEnd::kClosed:
    case AgentEnd::kDismissed:
      break;
  }
  return "closed";
}

}  // namespace

DeskServer::DeskServer(Owner* owner, const DeskServerContext& context)
    : owner_(owner),
      context_(context),
      asks_([this](uint64_t handle, const coap::AskAnswer& answer, bool last) {
        if (!forwarding_.PassAnswer(handle, answer)) context_.desk->Give(handle, answer, last);
      }),
      posts_(context.thread, context.desk, context.workers, context.max_packet_bytes, context.now),
      forwarding_({.worker = context.worker,
                   .workers = context.workers,
                   .counters = context.counters,
                   .now = context.now,
                   .connections = &connections_,
                   .asks = &asks_,
                   .at_worker = context.at_worker}),
      requests_(context.desk, &posts_, &forwarding_) {}

std::unique_ptr<AgentSession> DeskServer::MakeSession(Agent* agent, const Handoff& handoff) {
  SEGANET_REQUIRE(handoff.desk != nullptr);
  auto setup = context_.setups->Get(agent->stage(), agent->source(), handoff.desk.get());
  DeskHost* const host = this;
  auto session =
      std::make_unique<DeskSession>(host, agent->owner(), handoff.connection, handoff.desk,
                                    std::move(setup), handoff.address, handoff.note);
  AddUnidentified(connections_.Add(agent, session.get()));
  return session;
}

void DeskServer::AddUnidentified(DeskConnection* connection) {
  const DeskOptions& options = connection->session->options();
  connections_.AddUnidentified(connection, MonotonicUs() + options.identify_timeout_us);
  const size_t most = std::max<size_t>(1, options.max_unidentified / context_.workers);
  if (connections_.unidentified() <= most) return;
  // The caller still uses the newest connection.
  context_.counters->Add(Counter::kHalfOpenEvicted);
  Dismiss(*connections_.OldestUnidentified(), "evicted");
}

void DeskServer::Dismiss(const DeskConnection& connection, const std::string& reason) {
  connection.session->end_reason = reason;
  connection.agent->Close(AgentEnd::kDismissed);
}

// The output of all operations of a turn leaves together, at its end.
void DeskServer::PostOperation(uint64_t connection, Operation operation) {
  context_.thread->Post([this, connection, operation = std::move(operation)] {
    *context_.now = Now::Read();
    RunPosted(connection, operation);
  });
}

void DeskServer::RunPosted(uint64_t connection, const Operation& operation) {
  Run(connection, operation);
  const DeskConnection* const found = connections_.Find(connection);
  if (found != nullptr && found->session->output().size() > kMostHeldOutput) connections_.Flush();
}

void DeskServer::Run(uint64_t connection, const Operation& operation) {
  if (DeskConnection* const found = connections_.Find(connection)) {
    connections_.QueueOutput(found->session);
    operation(found);
  } else if (const auto waits = expected_.find(connection); waits != expected_.end()) {
    waits->second.push_back(operation);
  }
}

void DeskServer::Answer(uint64_t connection, std::string token, uint8_t code,
                        coap::OptionValues options, std::string payload) {
  PostOperation(connection, [this, token = std::move(token), code, options = std::move(options),
                             payload = std::move(payload)](DeskConnection* to) {
    Reply(to, token, code, options, payload);
  });
}

void DeskServer::AnswerAll(std::vector<DeskAddressee> to, std::shared_ptr<const DeskReply> reply) {
  context_.thread->Post([this, to = std::move(to), reply = std::move(reply)] {
    *context_.now = Now::Read();
    for (const auto& [connection, token] : to) {
      RunPosted(connection, [this, token = token, reply](DeskConnection* found) {
        Reply(found, token, reply->code, reply->options, reply->payload);
      });
    }
  });
}

void DeskServer::Reply(DeskConnection* to, std::string_view token, uint8_t code,
                       const coap::OptionValues& options, std::string_view payload) {
  const size_t before = to->session->asked();
  to->session->Answer(token, code, options, payload);
  context_.desk->Answered(before - to->session->asked());
  SetUp(to, context_.now->mono_us);
  requests_.Release(to->session);
}

void DeskServer::Settle(uint64_t connection, const std::string& token) {
  PostOperation(connection, [this, token](DeskConnection* of) {
    of->session->Settle(token);
    requests_.Release(of->session);
  });
}

void DeskServer::Record(uint64_t connection, uint64_t handle, std::string topic,
                        std::string payload, uint8_t record_class, uint64_t post) {
  PostOperation(connection, [this, handle, topic = std::move(topic), payload = std::move(payload),
                             record_class, post](DeskConnection* of) {
    IncomingRecord record;
    record.topic = topic;
    record.payload = payload;
    record.flags = kFlagQos1;
    record.record_class = record_class;
    of->session->Record(handle, record, posts_.Find(post));
  });
}

void DeskServer::Close(uint64_t connection, std::string reason) {
  PostOperation(connection, [this, reason = std::move(reason)](DeskConnection* over) {
    Dismiss(*over, reason);
  });
}

void DeskServer::Grant(uint64_t connection, const std::string& owner, GrantRights rights) {
  PostOperation(connection, [this, owner, rights](DeskConnection* to) {
    if (to->session->device().empty()) return;
    to->session->Grant(owner, rights);
    if (to->is_set_up()) forwarding_.Publish(*to->session);
  });
}

void DeskServer::Forget(uint64_t connection, std::string reason) {
  PostOperation(connection, [this, reason = std::move(reason)](DeskConnection* of) {
    EndIdentity(of, reason);
  });
}

void DeskServer::OnExpired(DeskSession* session) {
  context_.desk->Forget(session->connection());
  EndIdentity(connections_.Get(session->connection()), "expired");
}

// The connection stays, without a device.
void DeskServer::EndIdentity(DeskConnection* connection, const std::string& reason) {
  DeskSession* const session = connection->session;
  const std::string device = session->device();
  if (device.empty()) return;
  Agent* const agent = connection->agent;
  asks_.Gone(device);
  owner_->Disconnected(agent);
  connections_.EndSetUp(connection);
  forwarding_.Withdraw(*session);
  session->Forget();
  agent->Forget();
  owner_->Register(agent);
  context_.desk->Gone(session->connection(), device, reason);
  AddUnidentified(connection);
  requests_.Release(session);
}

void DeskServer::Identify(uint64_t connection, DeskIdentity identity, uint32_t to) {
  if (to == context_.worker) {
    PostOperation(connection, [this, identity = std::move(identity)](DeskConnection* of) {
      SetIdentity(of, identity);
    });
    return;
  }
  const bool posted = context_.thread->Post([this, connection, identity, to] {
    context_.arrive(to, connection, TakeOut(connection, identity));
  });
  if (!posted) context_.arrive(to, connection, nullptr);
}

// Takes a connection out of this worker. Null if it is closed.
std::shared_ptr<DeskParcel> DeskServer::TakeOut(uint64_t number, const DeskIdentity& identity) {
  const DeskConnection* const found = connections_.Find(number);
  if (found == nullptr) return nullptr;
  DeskSession* const session = found->session;
  Agent* const agent = found->agent;
  // Receipts of its previous device would not find it on another worker.
  if (!session->device().empty() || session->unacknowledged() > 0) {
    Dismiss(*found, "busy");
    return nullptr;
  }
  SEGANET_REQUIRE(session->held().empty());
  // Their answers would come to this worker.
  session->EndOwn();
  connections_.Remove(number);
  return std::make_shared<DeskParcel>(DeskParcel{owner_->TakeOut(agent), identity});
}

void DeskServer::Expect(uint64_t connection) {
  context_.adopting->fetch_add(1, std::memory_order_relaxed);
  if (!context_.thread->Post([this, connection] { expected_[connection]; })) {
    context_.adopting->fetch_sub(1, std::memory_order_relaxed);
  }
}

bool DeskServer::Arrive(uint64_t connection, const std::shared_ptr<DeskParcel>& parcel) {
  const bool posted = context_.thread->Post([this, connection, parcel] {
    context_.adopting->fetch_sub(1, std::memory_order_relaxed);
    const auto waits = expected_.find(connection);
    SEGANET_REQUIRE(waits != expected_.end());
    const std::vector<Operation> operations = std::move(waits->second);
    expected_.erase(waits);
    if (parcel != nullptr) Enter(connection, parcel.get(), operations);
  });
  if (posted || parcel == nullptr) return posted;
  close(parcel->agent.fd);
  context_.connections->fetch_sub(1, std::memory_order_relaxed);
  return false;
}

void DeskServer::Enter(uint64_t number, DeskParcel* parcel,
                       const std::vector<Operation>& operations) {
  *context_.now = Now::Read();
  Agent* const agent = owner_->Continue(std::move(parcel->agent));
  DeskSession* const session = agent->session().desk();
  session->SetHost(this);
  session->is_queued = false;
  connections_.QueueOutput(session);
  owner_->Enter(agent);
  SetIdentity(connections_.Add(agent, session), parcel->identity);
  for (const Operation& operation : operations) Run(number, operation);
  agent->Resume();
  connections_.Flush();
}

void DeskServer::SetIdentity(DeskConnection* connection, const DeskIdentity& identity) {
  DeskSession* const session = connection->session;
  Agent* const agent = connection->agent;
  if (session->device() == identity.device) {
    session->Identify(identity);
    if (connection->is_set_up()) forwarding_.Publish(*session);
    return;
  }
  if (!session->device().empty()) return Dismiss(*connection, "busy");
  connections_.RemoveUnidentified(connection);
  const Admission admission = agent->Identify(identity.device);
  owner_->Register(agent);
  if (admission != Admission::kAccepted) return Dismiss(*connection, "refused");
  session->Identify(identity);
  connections_.AwaitSetUp(connection, context_.now->mono_us + kSetUpUs);
  SetUp(connection, context_.now->mono_us);
}

// Sets the observations of the device up. The answer to the request that identified the connection
// goes first, because a device may expect it before any request.
void DeskServer::SetUp(DeskConnection* connection, int64_t now_us) {
  DeskSession* const session = connection->session;
  const bool waits = session->asked() > 0 && now_us < connection->set_up_by_us;
  if (connection->is_set_up() || waits) return;
  connections_.EndSetUp(connection);
  asks_.Connected(session->device(), session);
  forwarding_.Publish(*session);
}

void DeskServer::AskDevice(DeviceAsk ask) {
  context_.thread->Post([this, ask = std::move(ask)] {
    const Device* const device = context_.devices->Find(ask.device);
    DeskSession* link = nullptr;
    if (device != nullptr && device->agent != nullptr) link = device->agent->session().desk();
    asks_.Start(ask, link);
    connections_.Flush();
  });
}

void DeskServer::CancelAsk(uint64_t handle) {
  context_.thread->Post([this, handle] {
    asks_.Cancel(handle);
    connections_.Flush();
  });
}

void DeskServer::OnClosed(DeskSession* session, AgentEnd end) {
  connections_.Remove(session->connection());
  requests_.Closed(*session);
  posts_.GiveRoom(session->post_room());
  if (!session->device().empty()) forwarding_.Withdraw(*session);
  if (!session->device().empty()) asks_.Gone(session->device());
  context_.desk->Answered(session->asked());
  const std::string& reason = session->end_reason;
  context_.desk->Close(session->connection(), session->device(),
                       reason.empty() ? DeskReason(end) : reason);
}

void DeskServer::Sweep(int64_t now_us) {
  asks_.Expire(now_us);
  const std::vector<uint64_t> waiting = connections_.to_set_up();
  for (uint64_t connection : waiting) SetUp(connections_.Get(connection), now_us);
  for (uint64_t connection : connections_.LateUnidentified(now_us)) {
    context_.counters->Add(Counter::kConnectTimeouts);
    Dismiss(*connections_.Get(connection), "timeout");
  }
  connections_.Flush();
}

}  // namespace seganet
