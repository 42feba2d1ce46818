#include "core/devices/receipt_table.h"

#include "core/base/require.h"

namespace seganet {

void ReceiptTable::Enroll(ReceiptHolder* holder) {
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

void ReceiptTable::Leave(ReceiptHolder* holder) {
  SEGANET_REQUIRE(holder->row_ < rows_.size() && rows_[holder->row_].holder == holder);
  rows_[holder->row_].holder = nullptr;
  free_.push_back(holder->row_);
}

void ReceiptTable::Pass(ReceiptHolder* from, ReceiptHolder* to) {
  SEGANET_REQUIRE(from->row_ < rows_.size() && rows_[from->row_].holder == from);
  to->row_ = from->row_;
  to->life_ = from->life_;
  rows_[to->row_].holder = to;
}

void ReceiptTable::Serve(const std::vector<Receipt>& receipts) {
  Visit(receipts, &ReceiptHolder::Acknowledge);
}

void ReceiptTable::Deny(const std::vector<Receipt>& receipts) {
  Visit(receipts, &ReceiptHolder::Withhold);
}

void ReceiptTable::Refuse(const std::vector<Receipt>& receipts) {
  Visit(receipts, &ReceiptHolder::Refuse);
}

void ReceiptTable::Visit(const std::vector<Receipt>& receipts,
                         void (ReceiptHolder::*call)(uint64_t handle)) {
  for (const Receipt& receipt : receipts) {
    const Row& row = rows_[receipt.agent];
    ReceiptHolder* const holder = row.holder;
    if (holder == nullptr || row.life != receipt.life) continue;  // the holder has left
    (holder->*call)(receipt.handle);  // the holder may leave in this call
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
