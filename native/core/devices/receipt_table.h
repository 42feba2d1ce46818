// Maps receipts to the objects that wait for them.
#ifndef SEGANET_CORE_DEVICES_RECEIPT_TABLE_H_
#define SEGANET_CORE_DEVICES_RECEIPT_TABLE_H_

#include <cstdint>
#include <vector>

#include "core/base/require.h"
#include "core/record/receipt.h"

namespace seganet {

// An object that waits for records to become safe: a device's agent, a datagram socket, or
// JavaScript's push tickets. A handle identifies a record within its holder.
class ReceiptHolder {
 public:
  // One copy of the record with this handle is safe. Resulting output leaves with the next Flush.
  virtual void Acknowledge(uint64_t handle) = 0;
  // The record with this handle is lost and was never safe: its sender must not get an
  // acknowledgement.
  virtual void Withhold(uint64_t handle) = 0;
  // The flow did not deliver the record with this handle: its sender gets a refusal, if the
  // protocol has one.
  virtual void Refuse(uint64_t handle) { Withhold(handle); }
  // Sends the output that the calls above have produced.
  virtual void Flush() = 0;

  // Returns the receipt for a record of this holder. REQUIRES: enrolled.
  Receipt ReceiptFor(uint64_t handle) const {
    SEGANET_REQUIRE(life_ != 0);
    return {row_, life_, handle};
  }

 protected:
  ~ReceiptHolder() = default;

 private:
  friend class ReceiptTable;
  uint32_t row_ = 0;
  uint32_t life_ = 0;
  bool dirty_ = false;
};

// A reused row has a new life number, so late receipts of a holder that has left match nothing.
//
// Thread safety: owned by one worker.
class ReceiptTable {
 public:
  // Adds a holder.
  void Enroll(ReceiptHolder* holder);
  // Removes a holder. If Serve or Deny is running, the holder must live until that returns.
  // REQUIRES: enrolled.
  void Leave(ReceiptHolder* holder);

  // Removes `from` and adds `to` in its place: `to` gets the receipts of its records. If Serve or
  // Deny is running, both must live until that returns. REQUIRES: only `from` is enrolled.
  void Pass(ReceiptHolder* from, ReceiptHolder* to);

  // Acknowledges all records, then flushes each of their holders once.
  void Serve(const std::vector<Receipt>& receipts);
  // Withholds all records, then flushes each of their holders once.
  void Deny(const std::vector<Receipt>& receipts);
  // Refuses all records, then flushes each of their holders once.
  void Refuse(const std::vector<Receipt>& receipts);

 private:
  void Visit(const std::vector<Receipt>& receipts, void (ReceiptHolder::*call)(uint64_t handle));

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
