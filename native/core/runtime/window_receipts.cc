#include "core/runtime/window_receipts.h"

namespace seganet {

WindowReceipts::~WindowReceipts() {
  for (const auto& [handle, waiting] : waiting_) budget_->GiveBytes(waiting.bytes);
}

Receipt WindowReceipts::Hold(std::vector<Receipt> receipts) {
  const uint64_t handle = next_handle_++;
  const size_t bytes = sizeof(Waiting) + receipts.capacity() * sizeof(Receipt);
  budget_->TakeBytes(bytes);
  waiting_[handle] = {std::move(receipts), 0, bytes};
  return ReceiptFor(handle);
}

void WindowReceipts::Expect(uint64_t handle, uint32_t returns) {
  const auto it = waiting_.find(handle);
  if (it == waiting_.end()) return;
  it->second.missing = returns;
  if (returns == 0) End(handle, &ended_.safe);
}

void WindowReceipts::Acknowledge(uint64_t handle) {
  const auto it = waiting_.find(handle);
  if (it == waiting_.end() || --it->second.missing > 0) return;
  End(handle, &ended_.safe);
}

void WindowReceipts::End(uint64_t handle, std::vector<Receipt>* to) {
  const auto it = waiting_.find(handle);
  if (it == waiting_.end()) return;
  to->insert(to->end(), it->second.receipts.begin(), it->second.receipts.end());
  budget_->GiveBytes(it->second.bytes);
  waiting_.erase(it);
  has_ended_();
}

}  // namespace seganet
