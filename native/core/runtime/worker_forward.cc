// Worker: requests that pass from a peer's connection to a device's without JavaScript.
//
// The worker of the peer decides by its copy of the table (ForwardTable) and passes the request to
// the worker of the device, which asks the device (DeviceAsks) and passes the answer back. Each of
// these passages keeps the order.
//
// A request must not overtake an earlier one of its connection that JavaScript still has to pass
// on. It is held until these are answered or settled.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/protocol/coap/codes.h"
#include "core/runtime/worker.h"

namespace seganet {
namespace {

// Requests that are held on one worker. A connection gets at most as much as is free, so that one
// connection alone gets half, and others find room beside it.
constexpr size_t kMostHeldBytes = 8u << 20;

std::vector<std::string> Copies(const std::vector<std::string_view>& views) {
  return {views.begin(), views.end()};
}

std::vector<std::string_view> Views(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

DeskEvent EventOf(const DeskSession& session, const coap::Asked& asked) {
  DeskEvent event;
  event.connection = session.connection();
  event.device = session.device();
  event.address = session.address();
  event.note = session.note();
  event.code = asked.code;
  event.token = asked.token;
  event.path = Copies(asked.path);
  event.query = Copies(asked.query);
  event.options = asked.options;
  event.payload = asked.payload;
  return event;
}

// `request` must outlive the result.
coap::Asked AskedOf(const HeldRequest& request) {
  const DeskEvent& event = request.event;
  coap::Asked asked;
  asked.id = request.id;
  asked.reuses_token = request.reuses_token;
  asked.is_plain = request.is_plain;
  asked.code = event.code;
  asked.token = event.token;
  asked.path = Views(event.path);
  asked.query = Views(event.query);
  asked.options = event.options;
  asked.payload = event.payload;
  return asked;
}

coap::AskAnswer NoRoom() {
  coap::AskAnswer answer;
  answer.code = coap::kUnavailable;
  answer.options.push_back({coap::kMaxAge, "\x01"});
  answer.payload = "Too many requests wait. Try again.";
  return answer;
}

}  // namespace

coap::Taker Worker::OnAsked(DeskSession* session, const coap::Asked& asked) {
  if (!session->held().empty()) return HoldAtDesk(session, asked);
  if (session->unsettled() > 0 && TopicOf(*session, asked) != nullptr) {
    return HoldAtDesk(session, asked);
  }
  std::optional<ForwardPlan> plan = PlanForward(forward_table_, *session, asked, now_.mono_us);
  if (!plan) {
    const bool taken = shared_.desk->Ask(EventOf(*session, asked));
    return taken ? coap::Taker::kDesk : coap::Taker::kNone;
  }
  if (session->unsettled() > 0) return HoldAtDesk(session, asked);
  Forward(*session, asked, std::move(*plan));
  return coap::Taker::kOwner;
}

coap::Taker Worker::HoldAtDesk(DeskSession* session, const coap::Asked& asked) {
  HeldRequest request{asked.id, asked.reuses_token, asked.is_plain, EventOf(*session, asked)};
  const size_t bytes = request.event.bytes();
  if (session->held_bytes() + bytes > kMostHeldBytes - held_bytes_) return coap::Taker::kNone;
  held_bytes_ += bytes;
  session->Hold(std::move(request));
  return coap::Taker::kOwner;
}

void Worker::ReleaseHeld(DeskSession* session) {
  while (!session->held().empty()) {
    const HeldRequest& next = session->held().front();
    const coap::Asked asked = AskedOf(next);
    std::optional<ForwardPlan> plan = PlanForward(forward_table_, *session, asked, now_.mono_us);
    DeskTopic* const topic = plan ? nullptr : TopicOf(*session, asked);
    if ((plan || topic != nullptr) && session->unsettled() > 0) return;
    held_bytes_ -= next.event.bytes();
    HeldRequest request = session->TakeHeld();
    if (plan) {
      Forward(*session, AskedOf(request), std::move(*plan));
      continue;
    }
    if (topic != nullptr) {
      session->RecordOwn(request.event.token, request.id, topic, request.event.payload);
      continue;
    }
    const std::string token = request.event.token;
    // Before the desk has it, which may answer at once.
    session->PassToDesk(token, request.id);
    if (shared_.desk->Ask(std::move(request.event))) continue;
    const coap::AskAnswer answer = NoRoom();
    session->AnswerOwn(token, request.id, answer.code, answer.options, answer.payload);
  }
}

void Worker::Forward(const DeskSession& session, const coap::Asked& asked, ForwardPlan plan) {
  counters_.Add(Counter::kRequestsForwarded);
  ++forwarding_out_;
  DeviceAsk ask;
  ask.device = plan.row->device;
  ask.request = std::move(plan.request);
  ask.deadline_us = now_.mono_us + session.options().forward->timeout_us;
  const auto index = static_cast<uint32_t>(options_.index);
  Forwarding forwarding{
      index, session.connection(), asked.id, std::string(asked.token), ask.device, plan.shape};
  const uint64_t connection = plan.row->connection;
  if (plan.row->worker == index) {
    return StartForward(connection, std::move(ask), forwarding);
  }
  shared_.at_worker(plan.row->worker,
                    [connection, ask = std::move(ask), forwarding = std::move(forwarding)](
                        Worker* worker) { worker->StartForward(connection, ask, forwarding); });
}

// On the worker of the device.
void Worker::StartForward(uint64_t connection, DeviceAsk ask, const Forwarding& forwarding) {
  // The device may have left since the worker of the peer decided.
  const auto row = desk_rows_.find(connection);
  const bool is_there = row != desk_rows_.end() && row->second.session->device() == ask.device;
  DeskSession* const link = is_there ? row->second.session : nullptr;
  ask.handle = forwardings_.Add(forwarding, ask.request.payload.size());
  if (ask.handle == 0) return EndForward(forwarding, NoRoom());
  device_asks_.Start(std::move(ask), link);
}

// Passes an answer to the worker of the peer.
void Worker::EndForward(const Forwarding& forwarding, const coap::AskAnswer& answer) {
  if (forwarding.worker == options_.index) return AnswerForward(forwarding, answer);
  shared_.at_worker(forwarding.worker, [forwarding, answer](Worker* worker) {
    worker->AnswerForward(forwarding, answer);
  });
}

// On the worker of the peer, whose connection may be gone.
void Worker::AnswerForward(const Forwarding& forwarding, const coap::AskAnswer& answer) {
  --forwarding_out_;
  const auto row = desk_rows_.find(forwarding.connection);
  if (row == desk_rows_.end()) return;
  DeskSession* const session = row->second.session;
  session->AnswerOwn(forwarding.token, forwarding.id, answer.code,
                     ForwardedAnswer(*session->options().forward, forwarding.device,
                                     forwarding.shape, answer.options),
                     answer.payload);
  QueueOutput(session);
}

// Tells all workers who may use the device of a connection.
void Worker::Publish(const DeskRow& row) {
  const DeskSession& session = *row.session;
  if (session.options().forward == nullptr) return;
  if (session.identity().owner.empty()) return Withdraw(session);
  auto made = std::make_shared<ForwardRow>();
  made->device = session.device();
  made->owner = session.identity().owner;
  made->stage = session.stage();
  made->worker = static_cast<uint32_t>(options_.index);
  made->connection = session.connection();
  made->until_us = session.identity().forward_until_us;
  made->grants = session.grants();
  const std::shared_ptr<const ForwardRow> shared = std::move(made);
  forward_table_.Put(shared);
  for (uint32_t i = 0; i < options_.workers; ++i) {
    if (i == options_.index) continue;
    shared_.at_worker(i, [shared](Worker* worker) { worker->forward_table_.Put(shared); });
  }
}

void Worker::Withdraw(const DeskSession& session) {
  if (session.options().forward == nullptr) return;
  const std::string& device = session.device();
  const uint64_t connection = session.connection();
  forward_table_.Remove(device, connection);
  for (uint32_t i = 0; i < options_.workers; ++i) {
    if (i == options_.index) continue;
    shared_.at_worker(i, [device, connection](Worker* worker) {
      worker->forward_table_.Remove(device, connection);
    });
  }
}

void Worker::SettleAtDesk(uint64_t connection, const std::string& token) {
  AtDesk(connection, [this, token](DeskRow* row) {
    row->session->Settle(token);
    ReleaseHeld(row->session);
  });
}

void Worker::GrantAtDesk(uint64_t connection, const std::string& owner, GrantRights rights) {
  AtDesk(connection, [this, owner, rights](DeskRow* row) {
    if (row->session->device().empty()) return;
    row->session->Grant(owner, rights);
    if (row->set_up_by_us == 0) Publish(*row);
  });
}

}  // namespace seganet
