// Worker: receipts that come back, and the acknowledgements that they release.
#include <utility>

#include "core/runtime/worker.h"

namespace seganet {

void Worker::ReturnReceipts(std::vector<Receipt> receipts) {
  returned_.AddSafe(std::move(receipts));
  // The worker released the batch itself (AttendedSessions): no wake-up, served at the end of this
  // turn of the loop.
  if (IsCurrent()) {
    receipts_due_ = true;
  } else {
    Nudge();
  }
}

void Worker::WithholdReceipts(const std::vector<Receipt>& receipts) {
  returned_.AddWithheld(receipts);
  Nudge();
}

void Worker::EndDeferrals(const std::vector<Deferral>& ends) {
  returned_.AddDeferrals(ends);
  Nudge();
}

// Writes once per device, regardless of how many of its records are safe.
void Worker::ServeReceipts() {
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
  // Closed agents live until the end of the loop's turn.
  receipt_rows_.Serve(safe);
  receipt_rows_.Refuse(refused);
  receipt_rows_.Deny(withheld);
  safe.clear();
  withheld.clear();
  deferrals.clear();
  ServeWindows();
}

// Serves the receipts of windows whose record has ended. These may be receipts of records that a
// further window replaced.
void Worker::ServeWindows() {
  for (;;) {
    const WindowReceipts::Ended ended = window_receipts_.TakeEnded();
    if (ended.empty()) return;
    receipt_rows_.Serve(ended.safe);
    receipt_rows_.Refuse(ended.refused);
    receipt_rows_.Deny(ended.withheld);
  }
}

// The record of a QoS 2 packet has ended after its connection. Its identifier is in the session
// that is kept, or in that of the device's next connection.
void Worker::EndLate(const std::string& id, const mqtt::LatePublish& late, mqtt::LateEnd end) {
  if (mqtt::KeptSession* const kept = kept_.Find(id).session) {
    kept->incoming.EndLate(late.packet_id, late.hash, end == mqtt::LateEnd::kSafe);
    return;
  }
  const Device* const device = devices_.Find(id);
  Agent* const agent = device == nullptr ? nullptr : device->agent;
  if (agent == nullptr) return;
  if (agent->session().EndLate(late, end)) {
    agent->Flush();
  } else {
    agent->Close(AgentEnd::kNotTaken);
  }
}

}  // namespace seganet
