// The tickets of records that JavaScript pushed: each is completed when its record is safe.
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
class PushTickets : public ReceiptHolder {
 public:
  using Done = std::function<void(const std::vector<Completion>&)>;

  explicit PushTickets(Done done) : done_(std::move(done)) {}

  // Opens a ticket. Returns the handle for its record's receipt.
  uint64_t Open(uint32_t ticket);

  // Sets the number of copies of the record that must become safe; 0 = the record is as safe as it
  // gets. To be called once, after the record has run.
  void Expect(uint64_t handle, uint32_t copies);

  // Ends a ticket whose record no stage took.
  void Withhold(uint64_t handle, Untaken why);

  // Ends a ticket whose record was not accepted.
  void Fail(uint32_t ticket) { over_.push_back({ticket}); }

  // ReceiptHolder
  void Acknowledge(uint64_t handle) override;
  void Withhold(uint64_t handle) override { Withhold(handle, Untaken::kNoRoute); }
  void Refuse(uint64_t handle) override;
  // Reports the completed tickets.
  void Flush() override;

 private:
  struct Waiting {
    uint32_t ticket;
    uint32_t missing;
  };
  const Done done_;
  std::unordered_map<uint64_t, Waiting> waiting_;  // by handle
  uint64_t next_handle_ = 1;
  std::vector<Completion> over_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_PUSH_TICKETS_H_
