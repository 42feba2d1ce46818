#include "core/runtime/session_outbox.h"

#include <utility>

namespace seganet {

void SessionOutbox::Start(size_t workers, std::function<void()> on_change) {
  by_worker_ = std::vector<OfWorker>(workers);
  on_change_ = std::move(on_change);
}

bool SessionOutbox::Offer(SessionWrite write) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (offered_.size() >= kMostSessions || offered_bytes_ >= kMostBytes) {
    was_full_ = true;
    return false;
  }
  offered_bytes_ += write.device.size() + write.row.size();
  offered_.push_back(std::move(write));
  if (bell_ != nullptr && taken_.empty()) bell_->Ring();
  return true;
}

void SessionOutbox::Report(uint32_t worker, size_t waiting) {
  by_worker_[worker].waiting.store(waiting, std::memory_order_release);
}

bool SessionOutbox::Attach(Doorbell* bell) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (bell_ != nullptr) return false;
    bell_ = bell;
    if (!offered_.empty() || !taken_.empty()) bell_->Ring();
  }
  active_.store(true, std::memory_order_release);
  on_change_();
  return true;
}

void SessionOutbox::Detach() {
  const std::lock_guard<std::mutex> lock(mutex_);
  bell_ = nullptr;
}

void SessionOutbox::Disable() {
  active_.store(false, std::memory_order_release);
  on_change_();
}

const std::vector<SessionWrite>& SessionOutbox::Take() {
  bool has_room = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (taken_.empty()) {
      taken_.swap(offered_);
      offered_bytes_ = 0;
      has_room = std::exchange(was_full_, false);
    }
  }
  if (has_room) on_change_();
  return taken_;
}

void SessionOutbox::Committed() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const SessionWrite& write : taken_) {
      by_worker_[write.worker].committed.fetch_add(1, std::memory_order_acq_rel);
    }
    taken_.clear();
    if (bell_ != nullptr && !offered_.empty()) bell_->Ring();
  }
  on_change_();
}

size_t SessionOutbox::waiting() {
  const std::lock_guard<std::mutex> lock(mutex_);
  size_t sum = offered_.size() + taken_.size();
  for (const OfWorker& each : by_worker_) sum += each.waiting.load(std::memory_order_acquire);
  return sum;
}

}  // namespace seganet
