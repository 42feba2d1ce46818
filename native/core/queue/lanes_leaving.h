// Collects what leaves the lanes while their mutex is held. Receipts, the ledger and callbacks are
// handled after the mutex is released (Lanes::Settle).
#ifndef SEGANET_CORE_QUEUE_LANES_LEAVING_H_
#define SEGANET_CORE_QUEUE_LANES_LEAVING_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/queue/lanes.h"

namespace seganet {

// Receipts to return, by worker.
class ReturningReceipts {
 public:
  void Add(Batch* batch) {
    if (batch->receipts.empty()) return;
    // There are few workers, and nearly always the batches are from one of them.
    auto it = std::find_if(by_worker_.begin(), by_worker_.end(),
                           [batch](const auto& entry) { return entry.first == batch->worker; });
    if (it == by_worker_.end()) it = by_worker_.insert(it, {batch->worker, {}});
    std::vector<Receipt>& all = it->second;
    if (all.empty()) {
      all = std::move(batch->receipts);
    } else {
      all.insert(all.end(), batch->receipts.begin(), batch->receipts.end());
    }
    batch->receipts = {};
  }

  void Forget() { by_worker_.clear(); }

  void ReturnTo(ReceiptSink* sink) {
    for (auto& [worker, receipts] : by_worker_) sink->Return(worker, std::move(receipts));
    by_worker_.clear();
  }

  void WithholdAt(ReceiptSink* sink) {
    for (auto& [worker, receipts] : by_worker_) sink->Withhold(worker, std::move(receipts));
    by_worker_.clear();
  }

 private:
  std::vector<std::pair<uint32_t, std::vector<Receipt>>> by_worker_;
};

struct Lanes::Leaving {
  std::vector<BatchPtr> gone;  // batches that left memory without being delivered
  ReturningReceipts receipts;
  ReturningReceipts withheld;                     // of dropped records that were never safe
  std::vector<std::pair<uint64_t, size_t>> over;  // chunk and place of batches that are done
  bool room = false;                              // memory was freed
  bool read_on = false;                           // there is room to read more of the backlog

  // The batch is done, also on disk.
  void Over(const Batch& batch) {
    if (batch.chunk != 0) over.emplace_back(batch.chunk, batch.place);
  }

  // The batch leaves memory.
  void Gone(BatchPtr batch, LanesMemory* memory) {
    receipts.Add(batch.get());
    memory->Give(*batch);
    if (!batch->given_up) memory->GiveRecords(*batch);
    gone.push_back(std::move(batch));
  }
};

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_LANES_LEAVING_H_
