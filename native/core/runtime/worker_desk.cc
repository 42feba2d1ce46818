// Worker: connections whose requests go to the request desk, and requests to devices.
//
// JavaScript is the only thread that uses the desk, and it posts an operation to the worker that
// has the connection, so operations keep their order. When an identity moves a connection,
// JavaScript posts later operations to the new worker at once; they wait in `expected_` for the
// connection.
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/base/require.h"
#include "core/runtime/worker.h"

namespace seganet {
namespace {

// Longest wait for the answer to a sign-in before the device gets requests.
constexpr int64_t kSetUpUs = 1'000'000;

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

std::unique_ptr<AgentSession> Worker::MakeDeskSession(Agent* agent, const Handoff& handoff) {
  auto setup = setups_.Get(agent->stage(), agent->source(), handoff.desk.get());
  DeskHost* const host = this;
  auto session =
      std::make_unique<DeskSession>(host, agent->owner(), handoff.connection, handoff.desk,
                                    std::move(setup), handoff.address, handoff.note);
  DeskRow& row = desk_rows_[handoff.connection];
  row.agent = agent;
  row.session = session.get();
  AddUnidentified(&row);
  return session;
}

void Worker::AddUnidentified(DeskRow* row) {
  const DeskOptions& options = row->session->options();
  row->identify_by_us = MonotonicUs() + options.identify_timeout_us;
  row->place = unidentified_.insert(unidentified_.end(), row->session->connection());
  row->is_unidentified = true;
  const size_t most = std::max<size_t>(1, options.max_unidentified / options_.workers);
  if (unidentified_.size() <= most) return;
  // The caller still uses the newest connection.
  counters_.Add(Counter::kHalfOpenEvicted);
  Dismiss(desk_rows_.at(unidentified_.front()), "evicted");
}

void Worker::RemoveUnidentified(DeskRow* row) {
  if (row->is_unidentified) unidentified_.erase(row->place);
  row->is_unidentified = false;
}

void Worker::Dismiss(const DeskRow& row, const std::string& reason) {
  row.session->end_reason = reason;
  row.agent->Close(AgentEnd::kDismissed);
}

void Worker::AtDesk(uint64_t connection, DeskOp op) {
  Post([this, connection, op = std::move(op)] {
    now_ = Now::Read();
    RunAtDesk(connection, op);
    FlushDesk();
  });
}

void Worker::RunAtDesk(uint64_t connection, const DeskOp& op) {
  if (const auto row = desk_rows_.find(connection); row != desk_rows_.end()) {
    QueueOutput(row->second.session);
    op(&row->second);
  } else if (const auto waits = expected_.find(connection); waits != expected_.end()) {
    waits->second.push_back(op);
  }
}

void Worker::QueueOutput(DeskSession* session) {
  if (std::exchange(session->is_queued, true)) return;
  desk_output_.push_back(session->connection());
}

// Sends what the calls since the last one have produced.
void Worker::FlushDesk() {
  while (!desk_output_.empty()) {
    const auto row = desk_rows_.find(desk_output_.back());
    desk_output_.pop_back();
    if (row == desk_rows_.end()) continue;
    row->second.session->is_queued = false;
    Agent* const agent = row->second.agent;
    const CloseReason reason = row->second.session->close_reason();
    if (reason != CloseReason::kNone) {
      agent->CloseFor(reason);
    } else {
      agent->Flush();
    }
  }
}

void Worker::AnswerAtDesk(uint64_t connection, std::string token, uint8_t code,
                          coap::OptionValues options, std::string payload) {
  AtDesk(connection, [this, token = std::move(token), code, options = std::move(options),
                      payload = std::move(payload)](DeskRow* row) {
    const size_t before = row->session->asked();
    row->session->Answer(token, code, options, payload);
    shared_.desk->Answered(before - row->session->asked());
    SetUp(row, now_.mono_us);
    ReleaseHeld(row->session);
  });
}

void Worker::RecordAtDesk(uint64_t connection, uint64_t handle, std::string topic,
                          std::string payload, uint8_t record_class, uint64_t post) {
  AtDesk(connection, [this, handle, topic = std::move(topic), payload = std::move(payload),
                      record_class, post](DeskRow* row) {
    IncomingRecord record;
    record.topic = topic;
    record.payload = payload;
    record.flags = kFlagQos1;
    record.record_class = record_class;
    row->session->Record(handle, record, topics_.Find(post));
  });
}

void Worker::CloseAtDesk(uint64_t connection, std::string reason) {
  AtDesk(connection, [this, reason = std::move(reason)](DeskRow* row) { Dismiss(*row, reason); });
}

void Worker::ForgetAtDesk(uint64_t connection, std::string reason) {
  AtDesk(connection, [this, reason = std::move(reason)](DeskRow* row) { Forget(row, reason); });
}

void Worker::Forget(DeskRow* row, const std::string& reason) {
  const std::string device = row->session->device();
  if (device.empty()) return;
  Agent* const agent = row->agent;
  device_asks_.Gone(device);
  commands_.Gone(device);
  devices_.Disconnected(agent->device);
  presence_.Disconnected(agent->device, agent->source(), DeviceEnd::kClosed);
  row->set_up_by_us = 0;
  std::erase(to_set_up_, row->session->connection());
  Withdraw(*row->session);
  row->session->Forget();
  agent->Forget();
  Register(agent);
  shared_.desk->Gone(row->session->connection(), device, reason);
  AddUnidentified(row);
  ReleaseHeld(row->session);
}

void Worker::ExpectAtDesk(uint64_t connection) {
  adopting_.fetch_add(1, std::memory_order_relaxed);
  if (!Post([this, connection] { expected_[connection]; })) {
    adopting_.fetch_sub(1, std::memory_order_relaxed);
  }
}

void Worker::IdentifyAtDesk(uint64_t connection, DeskIdentity identity, uint32_t to) {
  if (to == options_.index) {
    AtDesk(connection,
           [this, identity = std::move(identity)](DeskRow* row) { Identify(row, identity); });
    return;
  }
  const bool posted = Post([this, connection, identity, to] {
    shared_.desk_arrive(to, connection, TakeFromDesk(connection, identity));
  });
  if (!posted) shared_.desk_arrive(to, connection, nullptr);
}

// Takes a connection out of this worker. Null if it is closed.
std::shared_ptr<DeskParcel> Worker::TakeFromDesk(uint64_t connection,
                                                 const DeskIdentity& identity) {
  const auto found = desk_rows_.find(connection);
  if (found == desk_rows_.end()) return nullptr;
  DeskRow& row = found->second;
  Agent* const agent = row.agent;
  // Receipts of its previous device would not find it on another worker.
  if (!row.session->device().empty() || row.session->unacknowledged() > 0) {
    Dismiss(row, "busy");
    return nullptr;
  }
  RemoveUnidentified(&row);
  SEGANET_REQUIRE(row.session->held().empty());
  // Their answers would come to this worker.
  row.session->EndOwn();
  desk_rows_.erase(found);
  pauses_.Remove(agent);
  return std::make_shared<DeskParcel>(DeskParcel{TakeOut(agent), identity});
}

bool Worker::ArriveAtDesk(uint64_t connection, const std::shared_ptr<DeskParcel>& parcel) {
  const bool posted = Post([this, connection, parcel] {
    adopting_.fetch_sub(1, std::memory_order_relaxed);
    const auto waits = expected_.find(connection);
    const std::vector<DeskOp> ops = std::move(waits->second);
    expected_.erase(waits);
    if (parcel == nullptr) return;
    now_ = Now::Read();
    auto* agent = new Agent(this, loop(), std::move(parcel->agent));
    DeskSession* const session = agent->session().desk();
    session->SetHost(this);
    session->is_queued = false;
    QueueOutput(session);
    session->MoveTo(agent->owner(), &kept_, &wills_);
    agents_.insert(agent);
    receipts_.table().Enroll(agent);
    wheel_.Add(agent, now_.mono_us);
    Register(agent);
    DeskRow& row = desk_rows_[connection];
    row.agent = agent;
    row.session = session;
    Identify(&row, parcel->identity);
    for (const DeskOp& op : ops) RunAtDesk(connection, op);
    agent->Resume();
    FlushDesk();
  });
  if (posted || parcel == nullptr) return posted;
  close(parcel->agent.fd);
  shared_.connections->fetch_sub(1, std::memory_order_relaxed);
  return false;
}

void Worker::Identify(DeskRow* row, const DeskIdentity& identity) {
  DeskSession* const session = row->session;
  Agent* const agent = row->agent;
  if (session->device() == identity.device) {
    session->Identify(identity);
    if (row->set_up_by_us == 0) Publish(*row);
    return;
  }
  if (!session->device().empty()) return Dismiss(*row, "busy");
  RemoveUnidentified(row);
  const Admission admission = agent->Identify(identity.device);
  Register(agent);
  if (admission != Admission::kAccepted) return Dismiss(*row, "refused");
  session->Identify(identity);
  row->set_up_by_us = now_.mono_us + kSetUpUs;
  to_set_up_.push_back(session->connection());
  SetUp(row, now_.mono_us);
}

// Sets the observations of the device up. The answer to the request that identified the connection
// goes first, because a device may expect it before any request.
void Worker::SetUp(DeskRow* row, int64_t now_us) {
  const bool waits = row->session->asked() > 0 && now_us < row->set_up_by_us;
  if (row->set_up_by_us == 0 || waits) return;
  row->set_up_by_us = 0;
  std::erase(to_set_up_, row->session->connection());
  device_asks_.Connected(row->session->device(), row->session);
  Publish(*row);
}

void Worker::AskDevice(DeviceAsk ask) {
  Post([this, ask = std::move(ask)] {
    const Device* const device = devices_.Find(ask.device);
    DeskSession* link = nullptr;
    if (device != nullptr && device->agent != nullptr) link = device->agent->session().desk();
    device_asks_.Start(ask, link);
    FlushDesk();
  });
}

void Worker::CancelAsk(uint64_t handle) {
  Post([this, handle] {
    device_asks_.Cancel(handle);
    FlushDesk();
  });
}

void Worker::OnAskAnswer(uint64_t id, const coap::AskAnswer& answer) {
  device_asks_.Answered(id, answer);
}

void Worker::OnRecorded(uint32_t stage, uint64_t handle, DeskRecorded result) {
  shared_.desk->Recorded(stage, handle, result);
}

void Worker::OnOutput(DeskSession* session) { QueueOutput(session); }

void Worker::OnExpired(DeskSession* session) {
  shared_.desk->Forget(session->connection());
  Forget(&desk_rows_.at(session->connection()), "expired");
}

void Worker::OnDeskClosed(DeskSession* session, AgentEnd end) {
  const auto row = desk_rows_.find(session->connection());
  RemoveUnidentified(&row->second);
  std::erase(to_set_up_, session->connection());
  desk_rows_.erase(row);
  held_bytes_ -= session->held_bytes();
  topics_.Give(session->post_room());
  if (!session->device().empty()) Withdraw(*session);
  if (!session->device().empty()) device_asks_.Gone(session->device());
  shared_.desk->Answered(session->asked());
  const std::string& reason = session->end_reason;
  shared_.desk->Close(session->connection(), session->device(),
                      reason.empty() ? DeskReason(end) : reason);
}

void Worker::SweepDesk(int64_t now_us) {
  device_asks_.Expire(now_us);
  const std::vector<uint64_t> waiting = to_set_up_;
  for (uint64_t connection : waiting) SetUp(&desk_rows_.at(connection), now_us);
  std::vector<uint64_t> late;
  for (uint64_t connection : unidentified_) {
    if (desk_rows_.at(connection).identify_by_us <= now_us) late.push_back(connection);
  }
  for (uint64_t connection : late) {
    counters_.Add(Counter::kConnectTimeouts);
    Dismiss(desk_rows_.at(connection), "timeout");
  }
  FlushDesk();
}

}  // namespace seganet
