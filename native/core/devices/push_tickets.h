// Who waits for records that JavaScript pushed: each ticket comes back when its record is safe.
#ifndef SEGANET_CORE_DEVICES_PUSH_TICKETS_H_
#define SEGANET_CORE_DEVICES_PUSH_TICKETS_H_

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/devices/receipt_table.h"
#include "core/record/receipt.h"

namespace seganet {

// Thread safety: owned by one worker.
class PushedTickets : public ReceiptHolder {
 public:
  using Done = std::function<void(const std::vector<Completion>&)>;

  explicit PushedTickets(Done done) : done_(std::move(done)) {}

  // Returns the slot for the record's receipt.
  uint64_t Open(uint32_t ticket);

  // `copies` of the record have to get safe; 0 = it is as safe as it gets. To be called once, after
  // the record has run.
  void Expect(uint64_t slot, uint32_t copies);

  // The record did not get in.
  void Fail(uint32_t ticket) { over_.push_back({ticket}); }

  // ReceiptHolder
  void Acknowledge(uint64_t slot) override;
  void Withhold(uint64_t slot) override;
  // Tells of the tickets that are over.
  void Flush() override;

 private:
  struct Waiting {
    uint32_t ticket;
    uint32_t missing;
  };
  const Done done_;
  std::unordered_map<uint64_t, Waiting> waiting_;  // by slot
  uint64_t next_slot_ = 1;
  std::vector<Completion> over_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_PUSH_TICKETS_H_
