// Receipts that other threads return to a worker.
#ifndef SEGANET_CORE_RUNTIME_RETURNED_RECEIPTS_H_
#define SEGANET_CORE_RUNTIME_RETURNED_RECEIPTS_H_

#include <mutex>
#include <utility>
#include <vector>

#include "core/plan/deferred_receipts.h"
#include "core/record/receipt.h"

namespace seganet {

// Thread safety: any thread.
class ReturnedReceipts {
 public:
  struct Taken {
    std::vector<Receipt> safe;
    std::vector<Receipt> withheld;    // of records that are lost and were never safe
    std::vector<Deferral> deferrals;  // what became of messages
  };

  void AddSafe(std::vector<Receipt> receipts) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (waiting_.safe.empty()) {
      waiting_.safe = std::move(receipts);
    } else {
      waiting_.safe.insert(waiting_.safe.end(), receipts.begin(), receipts.end());
    }
  }

  void AddWithheld(const std::vector<Receipt>& receipts) {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.withheld.insert(waiting_.withheld.end(), receipts.begin(), receipts.end());
  }

  void AddDeferrals(const std::vector<Deferral>& ends) {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.deferrals.insert(waiting_.deferrals.end(), ends.begin(), ends.end());
  }

  // Swaps what was returned into *taken, whose vectors are empty and whose memory is reused.
  void Take(Taken* taken) {
    const std::lock_guard<std::mutex> lock(mutex_);
    taken->safe.swap(waiting_.safe);
    taken->withheld.swap(waiting_.withheld);
    taken->deferrals.swap(waiting_.deferrals);
  }

 private:
  std::mutex mutex_;
  Taken waiting_;  // guarded by mutex_
};

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_RETURNED_RECEIPTS_H_
