// Receipts: whom to tell that a record is safe.
#ifndef SEGANET_CORE_RECORD_RECEIPT_H_
#define SEGANET_CORE_RECORD_RECEIPT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace seganet {

// A device's packet that waits for its acknowledgement, on the worker that owns the device. Each
// copy of a record that is on its way to an uplink carries one.
struct Receipt {
  uint32_t agent = 0;  // row of the worker's table of agents
  uint32_t life = 0;   // tells a row's present agent from an earlier one
  uint64_t slot = 0;   // of the agent's session; 0 = nobody waits
};

// What became of a record that was pushed with a ticket.
struct Completion {
  uint32_t ticket = 0;
  bool ok = false;
  // Not ok, because nothing took it: its sender has to keep it.
  bool withheld = false;
};

// Takes receipts back to their worker. Thread safety: any thread.
class ReceiptSink {
 public:
  virtual ~ReceiptSink() = default;
  // Of records that are safe.
  virtual void Return(size_t worker, std::vector<Receipt> receipts) = 0;
  // Of records that are gone and were never safe: they must not be acknowledged.
  virtual void Withhold(size_t worker, std::vector<Receipt> receipts) = 0;
};

}  // namespace seganet

#endif  // SEGANET_CORE_RECORD_RECEIPT_H_
