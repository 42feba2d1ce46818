#include "core/runtime/session_offers.h"

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/clock.h"

namespace seganet {
namespace {

// Sessions whose source has no name are known by "#" and its number, and are not saved.
bool IsSavedSource(std::string_view source) { return !source.empty() && source.front() != '#'; }

int64_t QuarterMs(const mqtt::KeptSession& session) { return int64_t{session.expiry_s} * 250; }

// True if the end that is on disk is within a quarter of the session's expiry of the true one.
// Engine::RestoreSessions() adds that quarter after a crash. Therefore a device that connects
// often, for a short time each, is not written each time.
bool IsCloseEnough(const mqtt::KeptSession& session, int64_t end_ms, int64_t now_ms) {
  const int64_t saved_ms = session.saved_end_ms;
  if (saved_ms == mqtt::KeptSession::kUnsaved) return false;
  if (saved_ms == end_ms) return true;
  if (saved_ms == SessionRow::kConnected) return false;
  if (saved_ms == SessionRow::kNeverEnds) return true;
  const int64_t true_ms = end_ms == SessionRow::kConnected ? SessionEndMs(session, now_ms) : end_ms;
  return std::abs(true_ms - saved_ms) < QuarterMs(session);
}

}  // namespace

void SessionOffers::Serve() {
  const SessionOutbox& outbox = *context_.outbox;
  SessionSaves& saves = context_.kept->saves();
  const bool was_active = is_active_;
  const uint64_t committed = outbox.committed(context_.worker);
  const bool has_news = outbox.active() != was_active || committed != committed_;
  if (!has_news && saves.waiting() == 0) return;
  if (outbox.active() != is_active_) {
    is_active_ = outbox.active();
    saves.SetActive(is_active_);
  }
  const bool may_answer = saves.Committed(committed - std::exchange(committed_, committed));
  if (may_answer || (was_active && !is_active_)) SendAnswers();
  outbox_is_full_ = false;
  OfferDue();
}

void SessionOffers::OfferDue() {
  SessionSaves& saves = context_.kept->saves();
  if (outbox_is_full_ || !is_active_) return;
  saves.OfferAll(MonotonicUs(), [this](const SessionSaves::Due& due) { return Offer(due); });
  if (is_last_) context_.outbox->Report(context_.worker, saves.waiting());
}

SessionSaves::Offer SessionOffers::Offer(const SessionSaves::Due& due) {
  const Now now = Now::Read();
  KeptSessions& kept_sessions = *context_.kept;
  std::string_view source;
  int64_t end_ms = SessionRow::kConnected;
  mqtt::KeptSession* session = nullptr;
  const Device* const device = context_.devices->Find(due.device);
  if (device != nullptr && device->agent != nullptr) session = device->agent->session().lasting();
  if (session != nullptr) {
    source = device->agent->source().name;
    // The gateway is about to end the connection.
    if (is_last_) {
      end_ms = SessionEndMs(*session, now.wall_ms);
      session->outgoing.RemoveIf(
          [this](const mqtt::Outgoing::Item& item) { return !context_.commands->Has(item.id); });
    }
  } else if (const KeptSessions::View kept = kept_sessions.Find(due.device);
             kept.session != nullptr) {
    session = kept.session;
    source = *kept.source;
    end_ms = kept.end_us == kNever ? SessionRow::kNeverEnds
                                   : now.wall_ms + (kept.end_us - now.mono_us) / 1000;
  }
  if (session != nullptr && !IsSavedSource(source)) session = nullptr;
  if (session == nullptr && !due.is_saved) return SessionSaves::Offer::kNotNeeded;
  if (session != nullptr && !due.is_changed && IsCloseEnough(*session, end_ms, now.wall_ms)) {
    // A device that stays connected is written later.
    if (end_ms == SessionRow::kConnected && session->saved_end_ms != end_ms) {
      kept_sessions.saves().Touch(due.device);
    }
    return SessionSaves::Offer::kNotNeeded;
  }
  SessionWrite write{context_.worker, due.device, {}};
  if (session != nullptr) {
    write.row = WriteSessionRow(due.device, source, end_ms, *session, is_last_);
    if (write.row.size() > kMaxSessionRow) write.row.clear();
  }
  if (!context_.outbox->Offer(std::move(write))) {
    outbox_is_full_ = true;
    return SessionSaves::Offer::kNoRoom;
  }
  if (session != nullptr) session->saved_end_ms = end_ms;
  return SessionSaves::Offer::kTaken;
}

// Sends the answers whose changes are on disk.
void SessionOffers::SendAnswers() {
  SessionSaves& saves = context_.kept->saves();
  const uint64_t saved = saves.saved();
  const std::vector<std::string> awaiting(saves.awaiting().begin(), saves.awaiting().end());
  for (const std::string& name : awaiting) {
    const Device* const device = context_.devices->Find(name);
    Agent* const agent = device == nullptr ? nullptr : device->agent;
    if (agent == nullptr || agent->session().Saved(saved)) saves.StopAwaiting(name);
    // May close the connection.
    if (agent != nullptr) agent->Flush();
  }
}

void SessionOffers::OfferLast(const std::unordered_set<Agent*>& agents) {
  SessionSaves& saves = context_.kept->saves();
  is_last_ = true;
  for (Agent* agent : agents) {
    if (agent->connected() && agent->session().lasting() != nullptr) {
      saves.Changed(agent->device_id());
    }
  }
  context_.kept->ForEachDevice([&saves](const std::string& device) { saves.Changed(device); });
  saves.Freeze();
  Serve();
}

void SessionOffers::Restore(std::vector<RestoredSession> sessions) {
  Serve();  // the sessions are saved from now on
  const Now now = Now::Read();
  for (RestoredSession& each : sessions) {
    const int64_t left_ms = each.end_ms - now.wall_ms;
    const int64_t end_us =
        each.end_ms == SessionRow::kNeverEnds ? kNever : now.mono_us + left_ms * 1000;
    context_.kept->Restore(each.row.device, each.row.source, std::move(each.row.session), end_us);
  }
}

}  // namespace seganet
