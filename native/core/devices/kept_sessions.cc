#include "core/devices/kept_sessions.h"

#include <utility>

#include "core/base/clock.h"

namespace seganet {
namespace {

constexpr uint32_t kNeverExpires = UINT32_MAX;  // 5: 3.1.2.11.2

}  // namespace

KeptSessions::KeptSessions(size_t limit, MemoryShare* memory, Ended ended)
    : limit_(limit), memory_(memory), ended_(std::move(ended)) {}

KeptSessions::~KeptSessions() {
  while (!sessions_.empty()) Remove(sessions_.begin());
}

bool KeptSessions::Put(std::string_view device, uint32_t stage,
                       std::unique_ptr<mqtt::KeptSession> session, int64_t now_us) {
  if (session == nullptr || session->expiry_s == 0) return false;
  if (const auto old = sessions_.find(device); old != sessions_.end()) Remove(old);
  const int64_t end_us =
      session->expiry_s == kNeverExpires ? kNever : now_us + int64_t{session->expiry_s} * 1'000'000;
  return Keep(device, stage, std::move(session), end_us);
}

void KeptSessions::PutMoved(Moved moved) {
  if (Keep(moved.device, moved.stage, std::move(moved.session), moved.end_us)) return;
  ended_(moved.device);
}

bool KeptSessions::Keep(std::string_view device, uint32_t stage,
                        std::unique_ptr<mqtt::KeptSession> session, int64_t end_us) {
  const auto bytes = static_cast<int64_t>(session->memory_bytes() + device.size() * 2);
  while (sessions_.size() >= limit_ && !ends_.empty()) EndSoonest();
  bool fits = memory_->Add(bytes);
  while (!fits && !ends_.empty()) {
    EndSoonest();
    fits = memory_->Add(0);
  }
  if (!fits || sessions_.size() >= limit_) {
    memory_->Add(-bytes);
    return false;
  }
  sessions_.emplace(device, Kept{stage, bytes, std::move(session), ends_.emplace(end_us, device)});
  return true;
}

std::unique_ptr<mqtt::KeptSession> KeptSessions::Take(std::string_view device, uint32_t stage,
                                                      int64_t now_us) {
  const auto it = sessions_.find(device);
  if (it == sessions_.end()) return nullptr;
  if (it->second.stage != stage || it->second.end->first <= now_us) {
    End(it);
    return nullptr;
  }
  return Remove(it);
}

void KeptSessions::Drop(std::string_view device) {
  if (const auto it = sessions_.find(device); it != sessions_.end()) End(it);
}

void KeptSessions::Expire(int64_t now_us) {
  while (!ends_.empty() && ends_.begin()->first <= now_us) EndSoonest();
}

std::unique_ptr<mqtt::KeptSession> KeptSessions::Remove(Sessions::iterator it) {
  std::unique_ptr<mqtt::KeptSession> session = std::move(it->second.session);
  memory_->Add(-it->second.bytes);
  ends_.erase(it->second.end);
  sessions_.erase(it);
  return session;
}

void KeptSessions::End(Sessions::iterator it) {
  const std::string device = it->first;
  Remove(it);
  ended_(device);
}

}  // namespace seganet
