// The dependencies and settings of lanes.
#ifndef SEGANET_CORE_QUEUE_LANES_CONTEXT_H_
#define SEGANET_CORE_QUEUE_LANES_CONTEXT_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/histogram.h"
#include "core/log/ledger.h"
#include "core/queue/batch.h"
#include "core/queue/budget.h"
#include "core/queue/dead_letters.h"
#include "core/queue/direct_session.h"
#include "core/queue/selection.h"

namespace seganet {

// Batches on disk that are older than this leave memory and become backlog, so that live records do
// not wait behind a long outage or an overload.
inline constexpr int64_t kStaleUs = 10'000'000;

// Waiting batches of a class are written at once if together they reach one of these sizes. A chunk
// does not exceed them, unless it is a single batch.
inline constexpr size_t kChunkBytes = 64 * 1024;
inline constexpr uint32_t kChunkRecords = 256;

// Maximum size of a class's backlog that is read ahead of the uplink.
inline constexpr size_t kReadAheadBytes = 256 * 1024;

// When batches are written to disk.
struct SavePolicy {
  // There is a log. Otherwise nothing is written.
  bool log = false;
  // A device gets its acknowledgment when the record is on disk (acknowledge: 'stored'). A batch is
  // sent only then, or after patience_us.
  bool disk_first = false;
  // Time that a batch that must be written waits for others after its oldest record arrived, by
  // class.
  std::array<int64_t, kClasses + 1> linger_us{};
  // A batch that the cloud has not acknowledged after this time is written; earlier only while the
  // cloud is unreachable or memory runs short.
  int64_t patience_us = 1'000'000;
  // If memory or the limit of a class is full: drop the oldest batches instead of slowing devices.
  bool drop_when_full = false;
};

// Limits of a class; 0 = no limit. Budget has the limit of records in memory.
struct ClassLimits {
  std::array<int64_t, kClasses + 1> ttl_us{};       // a batch with an older record is dropped
  std::array<uint32_t, kClasses + 1> rate_per_s{};  // records sent, live and backlog together
};

// Latency from arrival at the gateway to the cloud's acknowledgment, by class. The lanes of an
// engine share it. Excludes the backlog.
using LatencyByClass = std::array<Histogram, kClasses + 1>;

// Time within which batches without an uplink node must be written to disk.
inline constexpr int64_t kLeftoverUs = 5'000'000;

// All objects must outlive the lanes. `budget`, `latency`, `sequence`, `on_done` and `on_room` are
// mandatory; `ledger`, `on_due` and `wake_log` if there is a log.
struct LanesContext {
  Budget* budget = nullptr;
  LatencyByClass* latency = nullptr;
  std::atomic<uint64_t>* sequence = nullptr;  // last assigned batch id; ascends across the engine
  ReceiptSink* receipts = nullptr;
  Ledger* ledger = nullptr;
  DeadLetters* dead_letters = nullptr;
  std::function<int64_t()> clock = MonotonicUs;
  // Reports when a new batch must be written, CLOCK_MONOTONIC.
  std::function<void(int64_t due_us)> on_due;
  // Wakes the log: a batch is due, a row can be deleted, or the backlog must be read.
  std::function<void()> wake_log;
  // The same, even if the log has not answered the last wake-up. May be empty.
  std::function<void()> wake_log_again;
  // Reports a batch that leaves for good, delivered or not. Called without the mutex.
  std::function<void(const Batch&, bool delivered)> on_done;
  // Reports that memory was freed. Called without the mutex.
  std::function<void()> on_room;
  // Makes room among all lanes of the engine after a batch of the class arrived and memory was
  // full. Mandatory if save.drop_when_full is set. Called without the mutex.
  std::function<void(uint8_t record_class)> on_full;
  // Reports a demand: a session has nothing to send while batchers hold records back (Demand).
  // Called without the mutex; may be empty.
  std::function<void()> on_demand;
  // Takes batches that were in flight when these lanes stopped serving their stage. Mandatory if
  // SetStages is called. Called without the mutex.
  std::function<void(std::vector<BatchPtr>)> on_strays;
  // Lets a worker attend a session (Lanes::Attend); empty = no worker can.
  std::function<bool(std::shared_ptr<DirectSession> session, uint64_t attendance, int fd)> attend;
  // These lanes are for batches whose uplink node was removed. Such a batch leaves memory as soon
  // as it is on disk. If that takes longer than kLeftoverUs, or if there is no log, it is dropped
  // ("uplink removed") and not acknowledged.
  bool leftovers = false;
  SavePolicy save;
  // False: a record on the local disk is not safe, so nothing is written before SaveAll, and what
  // that writes is not acknowledged. Null = true.
  const std::atomic<bool>* disk_counts = nullptr;
  ClassLimits limits;
  SelectionOptions selection;
  uint64_t epoch = 0;  // identifies this run of the engine
};

// The records of a batch that the cloud will never accept.
struct Refusal {
  std::vector<uint32_t> records;  // ascending indices, from 0; empty = none
  uint32_t code = 0;
  std::string reason;  // for display
};

// A chunk that is to be written to disk.
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

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_LANES_CONTEXT_H_
