// Worker: its MQTT sessions, which are saved on disk and restored at the start.

#include <cstdlib>
#include <utility>

#include "core/runtime/session_row.h"
#include "core/runtime/worker.h"

namespace seganet {
namespace {

// Sessions whose source has no name are known by "#" and its number, and are not saved.
bool IsSavedSource(std::string_view source) { return !source.empty() && source.front() != '#'; }

int64_t QuarterMs(const mqtt::KeptSession& session) { return int64_t{session.expiry_s} * 250; }

}  // namespace

// Called at each wake-up, so it is cheap when nothing has changed.
void Worker::ServeSessions() {
  const SessionOutbox& outbox = *shared_.sessions;
  SessionSaves& saves = kept_.saves();
  const bool was_active = sessions_active_;
  const uint64_t committed = outbox.committed(static_cast<uint32_t>(options_.index));
  const bool has_news = outbox.active() != was_active || committed != committed_sessions_;
  if (!has_news && saves.waiting() == 0) return;
  if (outbox.active() != sessions_active_) {
    sessions_active_ = outbox.active();
    saves.SetActive(sessions_active_);
  }
  const bool may_answer =
      saves.Committed(committed - std::exchange(committed_sessions_, committed));
  if (may_answer || (was_active && !sessions_active_)) AnswerSaved();
  outbox_is_full_ = false;
  OfferSessions();
}

void Worker::OfferSessions() {
  SessionSaves& saves = kept_.saves();
  if (outbox_is_full_ || !sessions_active_) return;
  saves.OfferAll(MonotonicUs(), [this](const SessionSaves::Due& due) { return OfferSession(due); });
  if (sessions_end_) {
    shared_.sessions->Report(static_cast<uint32_t>(options_.index), saves.waiting());
  }
}

SessionSaves::Offer Worker::OfferSession(const SessionSaves::Due& due) {
  const Now now = Now::Read();
  std::string_view source;
  int64_t end_ms = SessionRow::kConnected;
  mqtt::KeptSession* session = nullptr;
  const Device* const device = devices_.Find(due.device);
  if (device != nullptr && device->agent != nullptr) session = device->agent->session().lasting();
  if (session != nullptr) {
    source = device->agent->source().name;
    // The gateway is about to end the connection.
    if (sessions_end_) {
      end_ms = SessionEndMs(*session, now.wall_ms);
      session->outgoing.RemoveIf(
          [this](const mqtt::Outgoing::Item& item) { return !commands_.Has(item.id); });
    }
  } else if (const KeptSessions::View kept = kept_.Find(due.device); kept.session != nullptr) {
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
      kept_.saves().Touch(due.device);
    }
    return SessionSaves::Offer::kNotNeeded;
  }
  SessionWrite write{static_cast<uint32_t>(options_.index), due.device, {}};
  if (session != nullptr) {
    write.row = WriteSessionRow(due.device, source, end_ms, *session, sessions_end_);
    if (write.row.size() > kMaxSessionRow) write.row.clear();
  }
  if (!shared_.sessions->Offer(std::move(write))) {
    outbox_is_full_ = true;
    return SessionSaves::Offer::kNoRoom;
  }
  if (session != nullptr) session->saved_end_ms = end_ms;
  return SessionSaves::Offer::kTaken;
}

// True if the end that is on disk is within a quarter of the session's expiry of the true one.
// Engine::RestoreSessions() adds that quarter after a crash. Therefore a device that connects
// often, for a short time each, is not written each time.
bool Worker::IsCloseEnough(const mqtt::KeptSession& session, int64_t end_ms, int64_t now_ms) const {
  const int64_t saved_ms = session.saved_end_ms;
  if (saved_ms == mqtt::KeptSession::kUnsaved) return false;
  if (saved_ms == end_ms) return true;
  if (saved_ms == SessionRow::kConnected) return false;
  if (saved_ms == SessionRow::kNeverEnds) return true;
  const int64_t true_ms = end_ms == SessionRow::kConnected ? SessionEndMs(session, now_ms) : end_ms;
  return std::abs(true_ms - saved_ms) < QuarterMs(session);
}

// Sends the answers whose changes are on disk.
void Worker::AnswerSaved() {
  SessionSaves& saves = kept_.saves();
  const uint64_t saved = saves.saved();
  const std::vector<std::string> awaiting(saves.awaiting().begin(), saves.awaiting().end());
  for (const std::string& name : awaiting) {
    const Device* const device = devices_.Find(name);
    Agent* const agent = device == nullptr ? nullptr : device->agent;
    if (agent == nullptr || agent->session().Saved(saved)) saves.StopAwaiting(name);
    // May close the connection.
    if (agent != nullptr) agent->Flush();
  }
}

void Worker::SaveSessions() {
  Call([this] {
    // QoS 2 identifiers whose records are safe by now are part of the sessions.
    receipts_.Serve();
    SessionSaves& saves = kept_.saves();
    sessions_end_ = true;
    for (Agent* agent : agents_) {
      if (agent->connected() && agent->session().lasting() != nullptr) {
        saves.Changed(agent->device_id());
      }
    }
    kept_.ForEachDevice([&saves](const std::string& device) { saves.Changed(device); });
    saves.Freeze();
    ServeSessions();
  });
}

void Worker::RestoreSessions(std::vector<RestoredSession> sessions) {
  Post([this, shared = std::make_shared<std::vector<RestoredSession>>(std::move(sessions))] {
    ServeSessions();  // the sessions are saved from now on
    const Now now = Now::Read();
    for (RestoredSession& each : *shared) {
      const int64_t left_ms = each.end_ms - now.wall_ms;
      const int64_t end_us =
          each.end_ms == SessionRow::kNeverEnds ? kNever : now.mono_us + left_ms * 1000;
      kept_.Restore(each.row.device, each.row.source, std::move(each.row.session), end_us);
    }
  });
}

}  // namespace seganet
