#include "core/runtime/desk/desk_forwarding.h"

#include <memory>
#include <string>
#include <utility>

#include "core/protocol/coap/codes.h"

namespace seganet {

coap::AskAnswer TooManyRequests() {
  coap::AskAnswer answer;
  answer.code = coap::kUnavailable;
  answer.options.push_back({coap::kMaxAge, "\x01"});
  answer.payload = "Too many requests wait. Try again.";
  return answer;
}

void DeskForwarding::Forward(const DeskSession& session, const coap::Asked& asked,
                             ForwardPlan plan) {
  context_.counters->Add(Counter::kRequestsForwarded);
  ++out_;
  DeviceAsk ask;
  ask.device = plan.row->device;
  ask.request = std::move(plan.request);
  ask.deadline_us = context_.now->mono_us + session.options().forward->timeout_us;
  Forwarding forwarding{context_.worker,          session.connection(), asked.id,
                        std::string(asked.token), ask.device,           plan.shape};
  const uint64_t connection = plan.row->connection;
  if (plan.row->worker == context_.worker) return Start(connection, std::move(ask), forwarding);
  context_.at_worker(plan.row->worker,
                     [connection, ask = std::move(ask), forwarding = std::move(forwarding)](
                         DeskForwarding* there) { there->Start(connection, ask, forwarding); });
}

// On the worker of the device.
void DeskForwarding::Start(uint64_t connection, DeviceAsk ask, const Forwarding& forwarding) {
  // The device may have left since the worker of the peer decided.
  const DeskConnection* const to = context_.connections->Find(connection);
  const bool is_there = to != nullptr && to->session->device() == ask.device;
  DeskSession* const link = is_there ? to->session : nullptr;
  ask.handle = forwardings_.Add(forwarding, ask.request.payload.size());
  if (ask.handle == 0) return End(forwarding, TooManyRequests());
  context_.asks->Start(std::move(ask), link);
}

bool DeskForwarding::PassAnswer(uint64_t handle, const coap::AskAnswer& answer) {
  if (!Forwardings::IsHandle(handle)) return false;
  if (const auto forwarding = forwardings_.Take(handle)) End(*forwarding, answer);
  return true;
}

// Passes an answer to the worker of the peer.
void DeskForwarding::End(const Forwarding& forwarding, const coap::AskAnswer& answer) {
  if (forwarding.worker == context_.worker) return Answer(forwarding, answer);
  context_.at_worker(forwarding.worker, [forwarding, answer](DeskForwarding* there) {
    there->Answer(forwarding, answer);
  });
}

// On the worker of the peer, whose connection may be gone.
void DeskForwarding::Answer(const Forwarding& forwarding, const coap::AskAnswer& answer) {
  --out_;
  const DeskConnection* const peer = context_.connections->Find(forwarding.connection);
  if (peer == nullptr) return;
  DeskSession* const session = peer->session;
  session->AnswerOwn(forwarding.token, forwarding.id, answer.code,
                     ForwardedAnswer(*session->options().forward, forwarding.device,
                                     forwarding.shape, answer.options),
                     answer.payload);
  context_.connections->QueueOutput(session);
}

void DeskForwarding::Publish(const DeskSession& session) {
  if (session.options().forward == nullptr) return;
  if (session.identity().owner.empty()) return Withdraw(session);
  auto made = std::make_shared<ForwardRow>();
  made->device = session.device();
  made->owner = session.identity().owner;
  made->stage = session.stage();
  made->worker = context_.worker;
  made->connection = session.connection();
  made->until_us = session.identity().forward_until_us;
  made->grants = session.grants();
  const std::shared_ptr<const ForwardRow> shared = std::move(made);
  table_.Put(shared);
  AtOtherWorkers([shared](DeskForwarding* there) { there->table_.Put(shared); });
}

void DeskForwarding::Withdraw(const DeskSession& session) {
  if (session.options().forward == nullptr) return;
  const std::string& device = session.device();
  const uint64_t connection = session.connection();
  table_.Remove(device, connection);
  AtOtherWorkers(
      [device, connection](DeskForwarding* there) { there->table_.Remove(device, connection); });
}

void DeskForwarding::AtOtherWorkers(const std::function<void(DeskForwarding*)>& task) {
  for (uint32_t i = 0; i < context_.workers; ++i) {
    if (i != context_.worker) context_.at_worker(i, task);
  }
}

}  // namespace seganet
