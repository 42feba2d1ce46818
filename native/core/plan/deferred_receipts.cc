#include "core/plan/deferred_receipts.h"

#include <utility>

#include "core/base/require.h"

namespace seganet {
namespace {

constexpr uint32_t kMostNumbers = UINT32_MAX / DeferredReceipts::kWorkers - 1;

}  // namespace

DeferredReceipts::DeferredReceipts(uint32_t worker, std::atomic<int64_t>* records)
    : worker_(worker), records_(records) {
  SEGANET_REQUIRE(worker < kWorkers);
}

DeferredReceipts::~DeferredReceipts() {
  for (const auto& [id, receipts] : waiting_) {
    records_->fetch_sub(static_cast<int64_t>(receipts.size()), std::memory_order_relaxed);
  }
}

uint32_t DeferredReceipts::Keep(std::vector<Receipt> receipts) {
  uint32_t id = 0;
  do {
    latest_ = latest_ % kMostNumbers + 1;
    id = latest_ * kWorkers + worker_;
  } while (waiting_.contains(id));
  records_->fetch_add(static_cast<int64_t>(receipts.size()), std::memory_order_relaxed);
  waiting_[id] = std::move(receipts);
  return id;
}

std::vector<Receipt> DeferredReceipts::Take(uint32_t id) {
  const auto it = waiting_.find(id);
  if (it == waiting_.end()) return {};
  std::vector<Receipt> receipts = std::move(it->second);
  waiting_.erase(it);
  records_->fetch_sub(static_cast<int64_t>(receipts.size()), std::memory_order_relaxed);
  return receipts;
}

void DeferredReceipts::Lose(std::vector<Receipt> receipts) {
  lost_.insert(lost_.end(), receipts.begin(), receipts.end());
}

std::vector<Receipt> DeferredReceipts::TakeLost() { return std::exchange(lost_, {}); }

}  // namespace seganet
