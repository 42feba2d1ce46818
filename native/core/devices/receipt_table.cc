#include "core/devices/receipt_table.h"

namespace seganet {

void ReceiptRows::Enroll(ReceiptHolder* holder) {
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(rows_.size()));
    rows_.emplace_back();
  }
  holder->row_ = free_.back();
  free_.pop_back();
  Row& row = rows_[holder->row_];
  holder->life_ = ++row.life;
  row.holder = holder;
}

void ReceiptRows::Leave(ReceiptHolder* holder) {
  rows_[holder->row_].holder = nullptr;
  free_.push_back(holder->row_);
}

void ReceiptRows::Serve(const std::vector<Receipt>& receipts) {
  Visit(receipts, &ReceiptHolder::Acknowledge);
}

void ReceiptRows::Deny(const std::vector<Receipt>& receipts) {
  Visit(receipts, &ReceiptHolder::Withhold);
}

void ReceiptRows::Visit(const std::vector<Receipt>& receipts,
                        void (ReceiptHolder::*call)(uint64_t slot)) {
  for (const Receipt& receipt : receipts) {
    const Row& row = rows_[receipt.agent];
    ReceiptHolder* const holder = row.holder;
    if (holder == nullptr || row.life != receipt.life) continue;  // it has left
    (holder->*call)(receipt.slot);                                // it may leave by that
    if (!holder->dirty_) {
      holder->dirty_ = true;
      dirty_.push_back(holder);
    }
  }
  for (ReceiptHolder* holder : dirty_) {
    holder->dirty_ = false;
    holder->Flush();
  }
  dirty_.clear();
}

}  // namespace seganet
