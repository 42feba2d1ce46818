// The queue in front of one uplink: for each class a live lane (FIFO) of sealed batches and a
// backlog lane of batches that came back from the log, and what was taken from them and not yet
// acknowledged by the cloud.
//
// It also says which batches have to be written to disk and when (lanes_save.cc), because only it
// knows how well the cloud answers.
//
// A batch crosses from a worker to the uplink's thread here, under a mutex: that is once a batch,
// not once a record.
#ifndef SEGANET_CORE_QUEUE_LANES_H_
#define SEGANET_CORE_QUEUE_LANES_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/counters.h"
#include "core/base/doorbell.h"
#include "core/base/histogram.h"
#include "core/log/chunk.h"
#include "core/log/ledger.h"
#include "core/queue/appetite.h"
#include "core/queue/batch.h"
#include "core/queue/budget.h"
#include "core/queue/dead_letters.h"
#include "core/queue/unsaved.h"

namespace seganet {

// A class that has waited this long is served as if one class more urgent, after twice that long
// two, but never before class 1: no class starves.
inline constexpr int64_t kAgingUs = 5'000'000;

// What is on disk and older than this when the cloud is there again is backlog from then on, so
// that live records do not wait behind a long outage.
inline constexpr int64_t kStaleUs = 10'000'000;

// Batches of a class that together have so much are written at once where they wait at all; a chunk
// is not made larger.
inline constexpr size_t kChunkBytes = 64 * 1024;
inline constexpr uint32_t kChunkRecords = 256;

// The backlog of a class is read ahead of the uplink up to this.
inline constexpr size_t kReadAheadBytes = 256 * 1024;

// When batches are written to disk. Meanings: native/index.d.ts, EngineOptions.
struct SavePolicy {
  bool log = false;         // there is a log
  bool disk_first = false;  // acknowledge = stored
  std::array<int64_t, kClasses + 1> linger_us{};
  int64_t patience_us = 1'000'000;
  bool drop_when_full = false;
};

// Latency from arrival at the gateway to the cloud's acknowledgement, by class; shared by the lanes
// of an engine. The backlog does not count.
using LatencyByClass = std::array<Histogram, kClasses + 1>;

// What lanes work with; all outlive them. Only `budget`, `latency` and `sequence` may not be null.
struct LanesContext {
  Budget* budget = nullptr;
  LatencyByClass* latency = nullptr;
  std::atomic<uint64_t>* sequence = nullptr;  // last id that was given out; ids ascend in an engine
  ReceiptDesk* receipts = nullptr;
  Ledger* ledger = nullptr;
  DeadLetters* dead_letters = nullptr;
  // Told when a batch that came in has to be written, CLOCK_MONOTONIC.
  std::function<void(int64_t due_us)> on_due;
  // Makes the log look: something is due now, can be freed or is to be read.
  std::function<void()> wake_log;
  // Told of a batch that leaves for good: delivered or not. Called without the mutex.
  std::function<void(const Batch&, bool delivered)> on_done;
  // Told that memory has become free. Called without the mutex.
  std::function<void()> on_room;
  // Told that a batcher holds back what a session could send now; may be empty. Called without the
  // mutex.
  std::function<void()> on_hungry;
  SavePolicy save;
  uint64_t epoch = 0;
};

// What the cloud will never take of a batch.
struct Refusal {
  std::vector<uint32_t> records;  // ascending, from 0
  uint32_t code = 0;
  std::string reason;
};

// A chunk on its way to the disk.
struct SealedChunk {
  uint64_t ticket = 0;
  std::string node;
  uint8_t record_class = 0;
  uint16_t batches = 0;
  uint32_t records = 0;
  int64_t first_ts_ms = 0;
  int64_t last_ts_ms = 0;
  std::string bytes;
};

// Thread safety: any member from any thread.
class Lanes {
 public:
  explicit Lanes(LanesContext context) : context_(std::move(context)) {}

  // Puts a batch behind those of its class and rings the consumer.
  void Push(BatchPtr batch);

  // Class of the batch that Take would take at `now_us`, 0 = none.
  uint8_t Best(int64_t now_us);

  // Most urgent class with backlog that was read, 0 = none.
  uint8_t BestBacklog();

  // Shows the best batch to `copy` and counts it as in flight when that returns true.
  // Returns false when there is none or `copy` does not want it.
  bool Take(int64_t now_us, const std::function<bool(const Batch&)>& copy, bool backlog = false);

  // The cloud acknowledged batch `id`, but for `refusal`. False: no such batch is in flight.
  bool Release(uint64_t id, int64_t now_us, const Refusal& refusal = {});

  // Age of the oldest live batch, µs, -1 = none.
  int64_t OldestUs(int64_t now_us);

  // Connects the one consumer; false when there is one already.
  bool Attach(Doorbell* doorbell);

  // Disconnects it: what it took returns to the head of its lanes, in order.
  void Detach();

  // The consumer's session with the cloud is up or down. When it comes up, stale batches that are
  // on disk leave memory and become backlog.
  void SetConnected(bool connected, int64_t now_us);

  // Drops everything that waits or is in flight, counted with `reason`; what is on disk stays
  // there.
  void Clear(Drop reason);

  // Whether some uplink of the plan uses these lanes. Those that nobody wants are cleared ("uplink
  // removed") as soon as no consumer is attached.
  void SetWanted(bool wanted);

  // --- Writing to disk (lanes_save.cc) ---

  // Names of the uplink nodes (stages) that batches wait at: chunks are kept under them.
  void SetNodes(std::map<uint32_t, std::string> nodes);

  // When the next batch has to be written, CLOCK_MONOTONIC; kNever = none.
  int64_t NextSave(int64_t now_us);

  // Everything is due now, from now on.
  void SaveAll();

  // Makes a chunk of what is due: batches of one class and one node. False when nothing is.
  bool Seal(int64_t now_us, SealedChunk* chunk);

  // What became of the chunk `ticket`.
  void Committed(uint64_t ticket);
  void Failed(uint64_t ticket);
  // The log has no room for it and the user wants that it goes.
  void Discard(uint64_t ticket);

  // The log has begun anew: what it held of these lanes, and memory still does, is written again.
  // The backlog is not; it has to reach the cloud from memory.
  void Unsave();

  // Whether the log should be read for this class.
  bool WantsBacklog(uint8_t record_class);
  void PushBacklog(std::vector<BatchPtr> batches);

  // While this is true batches are written after the linger, so open ones are sealed by then.
  bool hurried() const { return hurried_.load(std::memory_order_relaxed); }

  std::array<int64_t, kClasses + 1> Unsaved();

  // What the consumer could send, for the batchers.
  Appetite* appetite() { return &appetite_; }

  // The session is up, has room, and found nothing: what batchers hold of these classes may come.
  void Hungry(ClassMask classes);

  const CounterBlock& counters() const { return counters_; }

 private:
  // What has left the lanes and is settled when the mutex is released.
  struct Leaving;

  uint8_t BestLocked(int64_t now_us) const;
  bool MayLeave(const std::deque<BatchPtr>& lane, int64_t now_us) const;
  void RestoreLocked(BatchPtr batch);
  void Settle(Leaving* leaving);
  void Bury(BatchPtr batch, const Refusal& refusal);

  bool HurriedLocked(int64_t now_us);
  int64_t DueLocked(uint8_t record_class, bool hurried) const;
  std::string NodeOf(uint32_t stage) const;
  void LeaveLog(Batch* batch);
  void DropLocked(BatchPtr batch, Drop reason, Leaving* leaving);
  bool SpillFront(std::deque<BatchPtr>* lane, Leaving* leaving);
  void MakeRoom(uint8_t record_class, Leaving* leaving);

  const LanesContext context_;
  Appetite appetite_;

  std::mutex mutex_;
  std::array<std::deque<BatchPtr>, kClasses + 1> ready_;
  std::array<std::deque<BatchPtr>, kClasses + 1> backlog_;
  std::array<size_t, kClasses + 1> backlog_bytes_{};
  std::deque<BatchPtr> in_flight_;  // in the order of Take
  std::array<UnsavedList, kClasses + 1> unsaved_;
  std::map<uint64_t, std::vector<Batch*>> saving_;  // by ticket; null = has left meanwhile
  std::map<uint32_t, std::string> nodes_;
  Doorbell* doorbell_ = nullptr;
  bool connected_ = false;
  bool save_all_ = false;
  bool wanted_ = true;
  std::atomic<bool> hurried_{false};
  CounterBlock counters_;  // written under the mutex
};

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_LANES_H_
