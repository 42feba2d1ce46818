// The table by which receipts find whom to tell that a record is safe.
#ifndef SEGANET_CORE_DEVICES_RECEIPT_TABLE_H_
#define SEGANET_CORE_DEVICES_RECEIPT_TABLE_H_

#include <cstdint>
#include <vector>

#include "core/record/receipt.h"

namespace seganet {

// One whom somebody waits at: a device's agent, a socket of datagrams, the tickets of JavaScript.
class ReceiptHolder {
 public:
  // One copy of the record in `slot` is safe. What follows from it leaves with the next Flush.
  virtual void Acknowledge(uint64_t slot) = 0;
  // The record in `slot` is gone and was never safe: the sender must not get its acknowledgement.
  virtual void Withhold(uint64_t slot) = 0;
  virtual void Flush() = 0;

  // REQUIRES: enrolled.
  Receipt ReceiptFor(uint64_t slot) const { return {row_, life_, slot}; }

 protected:
  ~ReceiptHolder() = default;

 private:
  friend class ReceiptRows;
  uint32_t row_ = 0;
  uint32_t life_ = 0;
  bool dirty_ = false;
};

// A row is used again under a new life, so that late receipts of one that has left find nobody.
//
// Thread safety: owned by one worker.
class ReceiptRows {
 public:
  void Enroll(ReceiptHolder* holder);
  // REQUIRES: enrolled. The holder lives until Serve, if that is running, is over.
  void Leave(ReceiptHolder* holder);

  // Acknowledges them all; each holder is flushed once, however many of its records are safe.
  void Serve(const std::vector<Receipt>& receipts);
  // Withholds them all.
  void Deny(const std::vector<Receipt>& receipts);

 private:
  void Visit(const std::vector<Receipt>& receipts, void (ReceiptHolder::*call)(uint64_t slot));

  struct Row {
    ReceiptHolder* holder = nullptr;
    uint32_t life = 0;
  };
  std::vector<Row> rows_;
  std::vector<uint32_t> free_;
  std::vector<ReceiptHolder*> dirty_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_RECEIPT_TABLE_H_
