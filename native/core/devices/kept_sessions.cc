#include "core/devices/kept_sessions.h"

#include <utility>

#include "core/base/clock.h"

namespace seganet {
namespace {

constexpr uint32_t kNeverExpires = UINT32_MAX;  // 5: 3.1.2.11.2

}  // namespace

KeptSessions::KeptSessions(size_t limit, MemoryShare* memory, Ended ended, IsOver is_over)
    : limit_(limit), memory_(memory), ended_(std::move(ended)), is_over_(std::move(is_over)) {}

KeptSessions::~KeptSessions() {
  while (!sessions_.empty()) Remove(sessions_.begin());
}

bool KeptSessions::Put(std::string_view device, std::string_view source,
                       std::unique_ptr<mqtt::KeptSession> session, int64_t now_us) {
  if (session == nullptr || session->expiry_s == 0) return false;
  if (const auto old = sessions_.find(device); old != sessions_.end()) Remove(old);
  // Before its memory counts, for which other sessions may have to end.
  session->outgoing.RemoveIf(
      [this](const mqtt::Outgoing::Item& item) { return is_over_(item.id); });
  const int64_t end_us =
      session->expiry_s == kNeverExpires ? kNever : now_us + int64_t{session->expiry_s} * 1'000'000;
  if (!Keep(device, source, std::move(session), end_us)) return false;
  saves_.Touch(device);
  return true;
}

void KeptSessions::PutMoved(Moved moved) {
  moved.session->ticket = 0;  // it was saved before it moved
  const bool is_saved = moved.session->saved_end_ms != mqtt::KeptSession::kUnsaved;
  if (Keep(moved.device, moved.source, std::move(moved.session), moved.end_us)) return;
  saves_.Ended(moved.device, is_saved);
  ended_(moved.device);
}

void KeptSessions::Restore(std::string_view device, std::string_view source,
                           std::unique_ptr<mqtt::KeptSession> session, int64_t end_us) {
  if (sessions_.contains(device)) return;
  if (!Keep(device, source, std::move(session), end_us)) saves_.Ended(device, true);
}

KeptSessions::View KeptSessions::Find(std::string_view device) {
  const auto it = sessions_.find(device);
  if (it == sessions_.end()) return {nullptr, 0, nullptr};
  return {&it->second.source, it->second.end->first, it->second.session.get()};
}

bool KeptSessions::Keep(std::string_view device, std::string_view source,
                        std::unique_ptr<mqtt::KeptSession> session, int64_t end_us) {
  const auto bytes =
      static_cast<int64_t>(session->memory_bytes() + device.size() * 2 + source.size());
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
  sessions_.emplace(
      device, Kept{std::string(source), bytes, std::move(session), ends_.emplace(end_us, device)});
  return true;
}

std::unique_ptr<mqtt::KeptSession> KeptSessions::Take(std::string_view device,
                                                      std::string_view source, uint32_t most_s,
                                                      int64_t now_us) {
  const auto it = sessions_.find(device);
  if (it == sessions_.end()) return nullptr;
  const int64_t end_us = it->second.end->first;
  const uint32_t expiry_s = it->second.session->expiry_s;
  // The limit may have been lowered since the connection ended.
  const bool is_over =
      end_us <= now_us || (end_us != kNever && expiry_s > most_s &&
                           end_us - int64_t{expiry_s - most_s} * 1'000'000 <= now_us);
  if (it->second.source != source || is_over) {
    End(it);
    return nullptr;
  }
  return Remove(it);
}

void KeptSessions::Withdraw(std::string_view device, uint64_t id) {
  const auto it = sessions_.find(device);
  if (it == sessions_.end()) return;
  mqtt::KeptSession& session = *it->second.session;
  const auto before = static_cast<int64_t>(session.memory_bytes());
  session.outgoing.RemoveIf([id](const mqtt::Outgoing::Item& item) { return item.id == id; });
  const int64_t freed = before - static_cast<int64_t>(session.memory_bytes());
  it->second.bytes -= freed;
  memory_->Add(-freed);
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
  const bool is_saved = Remove(it)->saved_end_ms != mqtt::KeptSession::kUnsaved;
  saves_.Ended(device, is_saved);
  ended_(device);
}

}  // namespace seganet
