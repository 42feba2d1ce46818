// The interface to receipts that wait for a record which replaces their records.
#ifndef SEGANET_CORE_PLAN_HELD_RECEIPTS_H_
#define SEGANET_CORE_PLAN_HELD_RECEIPTS_H_

#include <cstdint>
#include <vector>

#include "core/record/receipt.h"

namespace seganet {

// Thread safety: owned by one worker.
class HeldReceipts {
 public:
  // Keeps receipts. Returns the receipt of the record that replaces their records.
  virtual Receipt Hold(std::vector<Receipt> receipts) = 0;

  // Sets how often the receipt of Hold() will return; 0 = its record is as safe as it gets. Then
  // all kept receipts return. To be called once, after the record has run.
  virtual void Expect(uint64_t handle, uint32_t returns) = 0;

  // The record was not taken: the kept receipts are withheld.
  virtual void WithholdHeld(uint64_t handle) = 0;

 protected:
  ~HeldReceipts() = default;
};

}  // namespace seganet

#endif  // SEGANET_CORE_PLAN_HELD_RECEIPTS_H_
