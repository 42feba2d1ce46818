#include "core/runtime/receipt_server.h"

#include <utility>

#include "core/devices/agent.h"

namespace seganet {

ReceiptServer::ReceiptServer(const ReceiptServerContext& context)
    : context_(context),
      deferred_(context.worker, context.deferred),
      windows_(context.budget, [thread = context.thread] { thread->Wake(); }),
      late_(&table_, context.kept_memory,
            [this](const std::string& device, const mqtt::LatePublish& late, mqtt::LateEnd end) {
              EndLate(device, late, end);
            }) {
  table_.Enroll(&windows_);
}

void ReceiptServer::Return(std::vector<Receipt> receipts) {
  returned_.AddSafe(std::move(receipts));
  // The worker released the batch itself (AttendedSessions): no wake-up, served at the end of this
  // turn of the loop.
  if (context_.thread->IsCurrent()) {
    is_due_ = true;
  } else {
    context_.thread->Nudge();
  }
}

void ReceiptServer::Withhold(const std::vector<Receipt>& receipts) {
  returned_.AddWithheld(receipts);
  context_.thread->Nudge();
}

void ReceiptServer::EndDeferrals(const std::vector<Deferral>& ends) {
  returned_.AddDeferrals(ends);
  context_.thread->Nudge();
}

void ReceiptServer::Serve() {
  returned_.Take(&serving_);
  auto& [safe, withheld, deferrals] = serving_;
  const std::vector<Receipt> lost = deferred_.TakeLost();
  withheld.insert(withheld.end(), lost.begin(), lost.end());
  std::vector<Receipt> refused;
  for (const Deferral& deferral : deferrals) {
    std::vector<Receipt>* const to = deferral.end == DeferralEnd::kDelivered ? &safe
                                     : deferral.end == DeferralEnd::kRefused ? &refused
                                                                             : &withheld;
    const std::vector<Receipt> receipts = deferred_.Take(deferral.id);
    to->insert(to->end(), receipts.begin(), receipts.end());
  }
  table_.Serve(safe);
  table_.Refuse(refused);
  table_.Deny(withheld);
  safe.clear();
  withheld.clear();
  deferrals.clear();
  ServeWindows();
}

// Serves the receipts of windows whose record has ended. These may be receipts of records that a
// further window replaced.
void ReceiptServer::ServeWindows() {
  for (;;) {
    const WindowReceipts::Ended ended = windows_.TakeEnded();
    if (ended.empty()) return;
    table_.Serve(ended.safe);
    table_.Refuse(ended.refused);
    table_.Deny(ended.withheld);
  }
}

void ReceiptServer::EndTurn() {
  while (std::exchange(is_due_, false)) Serve();
  late_.EndTurn();
}

// The record of a QoS 2 packet has ended after its connection. Its identifier is in the session
// that is kept, or in that of the device's next connection.
void ReceiptServer::EndLate(const std::string& id, const mqtt::LatePublish& late,
                            mqtt::LateEnd end) {
  if (mqtt::KeptSession* const kept = context_.kept->Find(id).session) {
    kept->incoming.EndLate(late.packet_id, late.hash, end == mqtt::LateEnd::kSafe);
    return;
  }
  const Device* const device = context_.devices->Find(id);
  Agent* const agent = device == nullptr ? nullptr : device->agent;
  if (agent == nullptr) return;
  if (agent->session().EndLate(late, end)) {
    agent->Flush();
  } else {
    agent->Close(AgentEnd::kNotTaken);
  }
}

}  // namespace seganet
