// What lanes work with, and their settings.
#ifndef SEGANET_CORE_QUEUE_LANES_CONTEXT_H_
#define SEGANET_CORE_QUEUE_LANES_CONTEXT_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/histogram.h"
#include "core/log/ledger.h"
#include "core/queue/batch.h"
#include "core/queue/budget.h"
#include "core/queue/dead_letters.h"
#include "core/queue/selection.h"

namespace seganet {

// What is on disk and older than this leaves memory and is backlog from then on, so that live
// records do not wait behind a long outage or an overload.
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

// What a class may have; 0 = no limit. How many records of it memory holds: Budget.
struct ClassLimits {
  std::array<int64_t, kClasses + 1> ttl_us{};       // a batch whose oldest record is older goes
  std::array<uint32_t, kClasses + 1> rate_per_s{};  // records, live and backlog together
};

// Latency from arrival at the gateway to the cloud's acknowledgement, by class; shared by the lanes
// of an engine. The backlog does not count.
using LatencyByClass = std::array<Histogram, kClasses + 1>;

// How long batches without an uplink node may take to get to disk.
inline constexpr int64_t kLeftoverUs = 5'000'000;

// All outlive the lanes. Only `budget`, `latency`, `sequence`, `on_done` and `on_room` are needed
// always; those of the log only where there is one.
struct LanesContext {
  Budget* budget = nullptr;
  LatencyByClass* latency = nullptr;
  std::atomic<uint64_t>* sequence = nullptr;  // last id that was given out; ids ascend in an engine
  ReceiptSink* receipts = nullptr;
  Ledger* ledger = nullptr;
  DeadLetters* dead_letters = nullptr;
  std::function<int64_t()> clock = MonotonicUs;
  // Told when a batch that came in has to be written, CLOCK_MONOTONIC.
  std::function<void(int64_t due_us)> on_due;
  // Makes the log look: something is due now, can be freed or is to be read.
  std::function<void()> wake_log;
  // Told of a batch that leaves for good: delivered or not. Called without the mutex.
  std::function<void(const Batch&, bool delivered)> on_done;
  // Told that memory has become free. Called without the mutex.
  std::function<void()> on_room;
  // Makes room among all lanes of the engine for a batch of the class that came in and found memory
  // full; needed where save.drop_when_full is set. Called without the mutex.
  std::function<void(uint8_t record_class)> on_full;
  // Told that a session has nothing to send while batchers hold records back (Demand). Called
  // without the mutex; may be empty.
  std::function<void()> on_hungry;
  // Takes batches that were in flight, and whose stage left these lanes meanwhile. Called without
  // the mutex; needed where SetStages is called.
  std::function<void(std::vector<BatchPtr>)> on_strays;
  // These lanes are for what belongs to no uplink node any more. It leaves memory as soon as it is
  // on disk; what is not within kLeftoverUs, or cannot be because there is no log, is dropped
  // ("uplink removed") and not acknowledged.
  bool leftovers = false;
  SavePolicy save;
  ClassLimits limits;
  SelectionOptions selection;
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

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_LANES_CONTEXT_H_
