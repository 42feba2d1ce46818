// Engine: the MQTT sessions of an earlier run.

#include <algorithm>
#include <utility>

#include "core/runtime/engine.h"
#include "core/runtime/session_row.h"

namespace seganet {
namespace {

// After a crash: the time by which a write of a connect or disconnect may have been late.
constexpr int64_t kLateMs = SessionSaves::kTouchUs / 1000;

// Returns when a restored session ends, ms since 1970. After a crash, the true end is not known
// exactly: this is the latest that it can be (IsCloseEnough in session_offers.cc).
int64_t EndMs(const SessionRow& row, bool exact, int64_t now_ms) {
  const mqtt::KeptSession& session = *row.session;
  // A device that was connected counts as gone since this start.
  const int64_t latest_ms = SessionEndMs(session, now_ms);
  if (row.end_ms == SessionRow::kConnected || latest_ms == SessionRow::kNeverEnds) return latest_ms;
  if (row.end_ms == SessionRow::kNeverEnds) return latest_ms;
  const int64_t late_ms = exact ? 0 : int64_t{session.expiry_s} * 250 + kLateMs;
  // The clock may have been set back meanwhile.
  return std::min(row.end_ms, latest_ms) + late_ms;
}

}  // namespace

std::vector<RestoreResult> Engine::RestoreSessions(const std::vector<std::string_view>& rows,
                                                   bool exact) {
  std::vector<RestoreResult> results;
  const int64_t now_ms = Now::Read().wall_ms;
  const SlotExchange::Hold hold(&exchange_);
  std::vector<std::vector<RestoredSession>> by_worker(workers_.size());
  for (const std::string_view bytes : rows) {
    SessionRow row;
    if (sessions_.restoring() != Restoring::kOpen) {
      results.push_back(RestoreResult::kTooLate);
    } else if (!ReadSessionRow(bytes, exact, &row)) {
      results.push_back(RestoreResult::kDamaged);
    } else if (const int64_t end_ms = EndMs(row, exact, now_ms); end_ms <= now_ms) {
      results.push_back(RestoreResult::kExpired);
    } else {
      const uint32_t owner = WorkerOf(row.device);
      by_worker[owner].push_back({std::move(row), end_ms});
      results.push_back(RestoreResult::kRestored);
    }
  }
  for (size_t i = 0; i < by_worker.size(); ++i) {
    if (!by_worker[i].empty()) workers_[i]->RestoreSessions(std::move(by_worker[i]));
  }
  return results;
}

void Engine::SaveSessions() {
  if (closed_) return;
  for (const auto& worker : workers_) worker->SaveSessions();
  sessions_.SetFinal();
}

}  // namespace seganet
