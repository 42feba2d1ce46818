// Receipts: which device's packet to acknowledge when a record is safe.
#ifndef SEGANET_CORE_RECORD_RECEIPT_H_
#define SEGANET_CORE_RECORD_RECEIPT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace seganet {

// Identifies a device's packet that waits for its acknowledgment, on the worker that owns the
// device. Each copy of a record that is queued for an uplink carries one.
struct Receipt {
  uint32_t agent = 0;   // row of the worker's table of agents
  uint32_t life = 0;    // distinguishes the row's current agent from earlier ones
  uint64_t handle = 0;  // packet of the agent's session; 0 = no packet waits
};

// Why no stage took a record.
enum class Untaken : uint8_t {
  kNoRoute,   // nothing stores, sends or forwards it
  kNoPart,    // its device id names no part of a split stage
  kPartFull,  // its part is above its rate or budget
};

// The outcome of a record that was pushed with a ticket.
struct Completion {
  uint32_t ticket = 0;
  bool ok = false;
  // Not ok because no stage took the record: the sender must keep it.
  bool withheld = false;
  Untaken why = Untaken::kNoRoute;  // withheld: the reason, if it is known
  // Not ok because the flow that got the record failed.
  bool refused = false;
};

// Returns receipts to their worker. Thread safety: any thread.
class ReceiptSink {
 public:
  virtual ~ReceiptSink() = default;
  // The records are safe: acknowledges them.
  virtual void Return(size_t worker, std::vector<Receipt> receipts) = 0;
  // The records were dropped and never safe: they must not be acknowledged.
  virtual void Withhold(size_t worker, std::vector<Receipt> receipts) = 0;
};

}  // namespace seganet

#endif  // SEGANET_CORE_RECORD_RECEIPT_H_
