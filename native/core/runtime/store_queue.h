// The engine's end of the log: gives the store thread what has to be written, deleted and read, and
// tells lanes and ledger what became of it. The store thread pulls; while it commits, the next
// chunks grow (group commit).
#ifndef SEGANET_CORE_RUNTIME_STORE_QUEUE_H_
#define SEGANET_CORE_RUNTIME_STORE_QUEUE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/counters.h"
#include "core/base/doorbell.h"
#include "core/log/ledger.h"
#include "core/plan/plan.h"
#include "core/queue/dead_letters.h"
#include "core/queue/lanes.h"

namespace seganet {

struct StoreQueueOptions {
  uint64_t epoch = 0;
  std::array<int64_t, kClasses + 1> ttl_us{};  // 0 = records of the log do not grow too old
};

// What the store thread takes: a chunk, or a dead letter in the same form.
struct StoreTask {
  SealedChunk chunk;
  bool dead = false;
  uint32_t code = 0;  // dead letters
  std::string reason;
};

enum class LoadResult { kOk, kCorrupt };

// Thread safety: WakeAt, Wake, SetPlan and sums from any thread; the others from the store thread.
class StoreQueue {
 public:
  using AllLanes = std::function<std::vector<std::shared_ptr<Lanes>>()>;

  StoreQueue(Budget* budget, ReceiptSink* receipts, AllLanes all_lanes)
      : budget_(budget), receipts_(receipts), all_lanes_(std::move(all_lanes)) {}

  // Before the first use.
  void SetOptions(const StoreQueueOptions& options) { options_ = options; }

  Ledger* ledger() { return &ledger_; }
  DeadLetters* dead_letters() { return &dead_letters_; }

  // A batch has to be written at `due_us`: rings when the store thread does not know already.
  void WakeAt(int64_t due_us);
  void Wake();

  // Which lanes the uplink nodes of the plan use.
  void SetPlan(const Plan& plan);

  // Connects the store thread; false when there is one already.
  bool Attach(Doorbell* doorbell);
  // Disconnects it: what it took and did not tell about counts as not written.
  void Detach();

  void Opened(int64_t max_row, const std::array<int64_t, kClasses + 1>& records);

  // CLOCK_MONOTONIC when Next has something, kNever = not before the bell rings.
  int64_t Due(int64_t now_us);

  // The next task, null = none is due. The same one until Taken.
  const StoreTask* Next(int64_t now_us);
  void Taken();

  void Committed(uint64_t ticket, int64_t row);
  void Failed(uint64_t ticket);
  void Dropped(uint64_t ticket);

  std::vector<int64_t> TakeFrees(size_t most) { return ledger_.TakeFrees(most); }
  void Freed();
  void Removed(int64_t row, uint8_t record_class, int64_t records);

  // The log has begun anew: nothing that was committed is there any more.
  void Lost();

  // The row to read next; false = none.
  bool Wanted(WantedRow* wanted);
  LoadResult Loaded(int64_t row, int64_t records, std::string_view body, int64_t now_us,
                    int64_t wall_ms);
  void Missing();

  const CounterBlock& counters() const { return counters_; }

 private:
  struct Pending {
    std::shared_ptr<Lanes> lanes;  // of a chunk
    DeadLetter letter;
    uint32_t records = 0;
    size_t bytes = 0;
  };
  struct Route {
    uint32_t stage = 0;
    std::shared_ptr<Lanes> lanes;
  };

  bool NextDeadLetter();
  bool NextChunk(int64_t now_us);
  void DeadLetterStored(Pending* pending);
  // The wanted row is gone: its records count as lost, but for those that memory holds.
  void Damaged(const GoneRow& gone);
  bool Expired(const ChunkEntry& entry, const ChunkHead& head, int64_t now_us,
               int64_t wall_ms) const;

  Budget* const budget_;
  ReceiptSink* const receipts_;
  const AllLanes all_lanes_;
  StoreQueueOptions options_;
  Ledger ledger_;
  DeadLetters dead_letters_;

  std::mutex mutex_;  // guards doorbell_ and routes_
  Doorbell* doorbell_ = nullptr;
  std::map<std::string, Route> routes_;       // by uplink node
  std::atomic<int64_t> reported_due_us_{kNever};  // when the store thread looks again by itself

  // Of the store thread.
  StoreTask task_;
  bool has_task_ = false;
  uint64_t next_dead_ticket_ = 1;
  std::map<uint64_t, Pending> pending_;  // by ticket; those of dead letters have the highest bit
  WantedRow wanted_;
  CounterBlock counters_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_STORE_QUEUE_H_
