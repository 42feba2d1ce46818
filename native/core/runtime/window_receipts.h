// Receipts of records that a window replaced with one record (plan/windows.h).
#ifndef SEGANET_CORE_RUNTIME_WINDOW_RECEIPTS_H_
#define SEGANET_CORE_RUNTIME_WINDOW_RECEIPTS_H_

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/devices/receipt_table.h"
#include "core/plan/held_receipts.h"
#include "core/queue/budget.h"
#include "core/record/receipt.h"

namespace seganet {

// The receipts of a window's records return when the window's record is safe. Their memory counts
// in the budget, so devices wait when it is short.
//
// Thread safety: owned by one worker.
class WindowReceipts : public ReceiptHolder, public HeldReceipts {
 public:
  // Receipts that may return, by what became of their record.
  struct Ended {
    std::vector<Receipt> safe;
    std::vector<Receipt> withheld;
    std::vector<Receipt> refused;
    bool empty() const { return safe.empty() && withheld.empty() && refused.empty(); }
  };

  // `budget` must outlive this object. `has_ended` is called when TakeEnded() has something, and
  // must not call this object.
  WindowReceipts(Budget* budget, std::function<void()> has_ended)
      : budget_(budget), has_ended_(std::move(has_ended)) {}
  ~WindowReceipts();
  WindowReceipts(const WindowReceipts&) = delete;
  WindowReceipts& operator=(const WindowReceipts&) = delete;

  // HeldReceipts. REQUIRES: enrolled.
  Receipt Hold(std::vector<Receipt> receipts) override;
  void Expect(uint64_t handle, uint32_t returns) override;
  void WithholdHeld(uint64_t handle) override { End(handle, &ended_.withheld); }

  // ReceiptHolder
  void Acknowledge(uint64_t handle) override;
  void Withhold(uint64_t handle) override { End(handle, &ended_.withheld); }
  void Refuse(uint64_t handle) override { End(handle, &ended_.refused); }
  void Flush() override {}

  // Returns what has ended since the last call.
  Ended TakeEnded() { return std::exchange(ended_, {}); }

  // Windows' records that are not safe yet.
  size_t waiting() const { return waiting_.size(); }

 private:
  struct Waiting {
    std::vector<Receipt> receipts;
    uint32_t missing = 0;
    size_t bytes = 0;  // in the budget
  };

  void End(uint64_t handle, std::vector<Receipt>* to);

  Budget* const budget_;
  const std::function<void()> has_ended_;
  std::unordered_map<uint64_t, Waiting> waiting_;  // by handle
  uint64_t next_handle_ = 1;
  Ended ended_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_WINDOW_RECEIPTS_H_
