// The store queue: gives the store thread the chunks and rows to write, delete and read, and
// reports the results to the lanes and the ledger. The store thread pulls; while it commits, the
// next chunks grow (group commit).
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
  std::array<int64_t, kClasses + 1> ttl_us{};  // by class; 0 = records in the log do not expire
};

// A task of the store thread: to write a chunk, or a dead letter in the same form.
struct StoreTask {
  SealedChunk chunk;
  bool dead = false;
  uint32_t code = 0;  // dead letter: reason code of the refusal
  std::string reason;
};

enum class LoadResult { kOk, kCorrupt };

// Thread safety: WakeAt, Wake, SetPlan and counters from any thread; the others from the store
// thread.
class StoreQueue {
 public:
  using AllLanes = std::function<std::vector<std::shared_ptr<Lanes>>()>;

  StoreQueue(Budget* budget, ReceiptSink* receipts, AllLanes all_lanes)
      : budget_(budget), receipts_(receipts), all_lanes_(std::move(all_lanes)) {}

  // To be called before the first use.
  void SetOptions(const StoreQueueOptions& options) { options_ = options; }

  Ledger* ledger() { return &ledger_; }
  DeadLetters* dead_letters() { return &dead_letters_; }

  // A batch must be written at `due_us`: rings the bell unless the store thread wakes up by then
  // anyway.
  void WakeAt(int64_t due_us);
  // Rings the bell.
  void Wake();
  // The same, even if the thread has not answered the last ring.
  void WakeAgain();

  // Sets the lanes that the plan's uplink nodes use.
  void SetPlan(const Plan& plan);

  // Connects the store thread. Returns false if one is already connected.
  bool Attach(Doorbell* doorbell);
  // Disconnects the store thread. Tasks that it took without reporting a result count as not
  // written.
  void Detach();

  // The log is open: its highest row, its records by class, and its bytes by uplink node.
  void Opened(int64_t max_row, const std::array<int64_t, kClasses + 1>& records,
              const std::map<std::string, int64_t>& bytes = {});

  // Returns when Next may have a task, CLOCK_MONOTONIC; kNever = not before the bell rings.
  int64_t Due(int64_t now_us);

  // Returns the next task, or null if none is due. Returns the same task until Taken is called.
  const StoreTask* Next(int64_t now_us);
  void Taken();

  // The result of a task: written as row `row`, not written (it will be tried again), or dropped.
  void Committed(uint64_t ticket, int64_t row);
  void Failed(uint64_t ticket);
  void Dropped(uint64_t ticket);

  // Rows to delete, at most `most`; Freed reports that the deletion of the taken rows is committed.
  std::vector<int64_t> TakeFrees(size_t most) { return ledger_.TakeFrees(most); }
  void Freed();
  // The store deleted a row with undelivered records because the log is full.
  void Removed(int64_t row, uint8_t record_class, int64_t records);

  // A dead letter was moved to row `row`, to be sent again; `records` has the number of records of
  // each batch. Returns false, without effect, if the row is not new.
  bool SendAgain(int64_t row, const std::string& node, uint8_t record_class,
                 std::vector<uint32_t> records);

  // The log was recreated: nothing that was committed is there anymore.
  void Lost();

  // Returns the row to read next in `*wanted`, or false if there is none.
  bool Wanted(WantedRow* wanted);
  // Delivers the wanted row. kCorrupt: its content is invalid and its records count as lost, except
  // those that memory still holds.
  LoadResult Loaded(int64_t row, int64_t records, std::string_view body, int64_t now_us,
                    int64_t wall_ms);
  // The wanted row does not exist.
  void Missing();

  const CounterBlock& counters() const { return counters_; }

 private:
  struct Pending {
    std::shared_ptr<Lanes> lanes;  // null for a dead letter
    DeadLetter letter;
    uint32_t records = 0;
    size_t bytes = 0;
  };
  struct Route {
    uint32_t stage = 0;
    std::shared_ptr<Lanes> lanes;
  };

  int64_t NextLook(int64_t now_us);
  bool NextDeadLetter();
  bool NextChunk(int64_t now_us);
  void DeadLetterStored(Pending* pending);
  // The wanted row is lost: its records count as lost, except those that memory still holds.
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
  std::map<std::string, Route> routes_;           // by uplink node
  std::atomic<int64_t> reported_due_us_{kNever};  // when the store thread asks again by itself
  std::atomic<bool> came_{false};                 // a batch did, since the last look

  // Used by the store thread only.
  StoreTask task_;
  bool has_task_ = false;
  int64_t wait_us_ = 0;  // of the last batch that was to be written later
  int64_t look_us_ = 0;
  uint64_t next_dead_ticket_ = 1;
  std::map<uint64_t, Pending> pending_;  // by ticket; tickets of dead letters have kDeadTicket set
  WantedRow wanted_;
  CounterBlock counters_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_STORE_QUEUE_H_
