// Receipts of records that left as messages, and whose devices wait until the flow has delivered
// them (SourceSettings::delivered).
#ifndef SEGANET_CORE_PLAN_DEFERRED_RECEIPTS_H_
#define SEGANET_CORE_PLAN_DEFERRED_RECEIPTS_H_

#include <atomic>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/record/receipt.h"

namespace seganet {

// Most records of an engine that wait for a flow. Beyond it, sources with
// SourceSettings::delivered do not accept records. Each worker may exceed it by the records of one
// read.
inline constexpr int64_t kMostDeferred = 10'000;

// What became of a message.
enum class DeferralEnd : uint8_t {
  kDelivered,  // acknowledge its records
  kRefused,    // the flow failed: the device gets a refusal
  kWithheld,   // the flow was replaced: the device must send the records again
};

struct Deferral {
  uint32_t id = 0;
  DeferralEnd end = DeferralEnd::kWithheld;
};

// Thread safety: owned by one worker.
class DeferredReceipts {
 public:
  // `records` counts the waiting records of all workers and outlives this object.
  // REQUIRES: worker < kWorkers.
  DeferredReceipts(uint32_t worker, std::atomic<int64_t>* records);
  ~DeferredReceipts();
  DeferredReceipts(const DeferredReceipts&) = delete;
  DeferredReceipts& operator=(const DeferredReceipts&) = delete;

  // Keeps the receipts of one message. Returns its id, which is not 0 and names the worker.
  uint32_t Keep(std::vector<Receipt> receipts);
  // Removes a message and returns its receipts; none if the id is unknown.
  std::vector<Receipt> Take(uint32_t id);

  // Passes on receipts of a message that found no room, which are to be withheld.
  void Lose(std::vector<Receipt> receipts);
  // Returns the receipts of Lose(), once.
  std::vector<Receipt> TakeLost();

  // Returns the worker in an id.
  static uint32_t WorkerOf(uint32_t id) { return id % kWorkers; }

  static constexpr uint32_t kWorkers = 64;

 private:
  const uint32_t worker_;
  std::atomic<int64_t>* const records_;
  uint32_t latest_ = 0;
  std::unordered_map<uint32_t, std::vector<Receipt>> waiting_;  // by id
  std::vector<Receipt> lost_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_PLAN_DEFERRED_RECEIPTS_H_
