// Collects the records of each class until a limit is met (SegaNet, "Efficient message batching":
// n, m, t), or, adaptively, until the uplink could send them: a batch is then open for as long as
// the link is busy with those before it, and so as large as the load makes it.
#ifndef SEGANET_CORE_QUEUE_BATCHER_H_
#define SEGANET_CORE_QUEUE_BATCHER_H_

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/status.h"
#include "core/queue/batch.h"
#include "core/queue/demand.h"
#include "core/record/record.h"

namespace seganet {

enum class BatchMode : uint8_t {
  kEnvelope,  // one PUBLISH with a line a record
  kRecords,   // records keep their own PUBLISH; a batch leaves in one TLS record
  kOff,       // every record leaves on its own at once
};

enum class BatchFlush : uint8_t {
  kLimits,    // n, m and t alone
  kAdaptive,  // an uplink that has nothing to send; m of its link, and t
};

struct BatcherOptions {
  BatchMode mode = BatchMode::kEnvelope;
  BatchFlush flush = BatchFlush::kLimits;
  uint32_t min_devices =
      50;  // n: no batching below; stops again below 90 % of it. 0 = always batch. Not kAdaptive
  uint32_t max_bytes =
      1024;  // m: sealed before it would be larger (a larger record is a batch of its own)
  uint32_t max_delay_ms = 1000;  // t: sealed when its oldest record is this old
  uint32_t gap_us = 5'000;  // kAdaptive: batches of a class leave so far apart while it is busy,
                            // the less the fewer records come; 0 = one a wake-up always
  uint8_t immediate_class = kCritical;  // classes up to this one never wait

  bool operator==(const BatcherOptions&) const = default;
};

inline constexpr uint32_t kMaxBatchBytes = 1024 * 1024;
inline constexpr uint32_t kMaxDelayMs = 24 * 3600 * 1000;
inline constexpr uint32_t kMaxGapUs = 1'000'000;

// From so many records of a class a second the gap is the whole one: a batch of a few records saves
// too little to be waited for.
inline constexpr int64_t kBusyRecordsPerS = 3'000;
// The rate is that of the last window of this length.
inline constexpr int64_t kRateWindowUs = 50'000;

Status Validate(const BatcherOptions& options);

// Thread safety: owned by one worker. Batches never mix classes; those of one class leave in the
// order of Add.
class Batcher {
 public:
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual void OnBatch(BatchPtr batch) = 0;
  };

  // `sink` outlives the batcher. REQUIRES: Validate(options).ok().
  Batcher(const BatcherOptions& options, Sink* sink) : options_(options), sink_(sink) {}
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  // Where the batches go, for kAdaptive: any of these seals when it is hungry, and m is that of the
  // smallest. Without any the batches are messages, and somebody is always hungry. They outlive the
  // batcher, or the next call.
  void SetAppetites(std::vector<Appetite*> uplinks) { uplinks_ = std::move(uplinks); }

  // `devices` is the number of connected devices, which decides whether to batch at all.
  void Add(const Record& record, uint32_t devices);

  // All that came with one wake-up was added: asks the uplinks once for each open class, not once
  // a record. What they do not want yet waits, and whoever becomes hungry has to have this called
  // again (Appetite::Hungry).
  void EndTurn(int64_t now_us);

  // Seals what is due, and ends the turn. To be called at NextDeadline() or later.
  void OnTime(int64_t now_us);

  // CLOCK_MONOTONIC of the first batch that falls due, kNever when none is open.
  int64_t NextDeadline() const;

  // No batch of these classes stays open longer than this (by class, µs), whatever t says: its
  // devices wait for the log.
  void SetHaste(const std::array<int64_t, kClasses + 1>* longest_us, ClassMask classes) {
    longest_us_ = longest_us;
    hasty_ = classes;
  }

  // Seals every open batch, most urgent class first.
  void Flush(SealReason reason);

  const BatcherOptions& options() const { return options_; }

 private:
  // A batch being filled, and what counts against max_bytes.
  struct Open {
    BatchPtr batch;
    size_t size = 0;
    bool held = false;  // no uplink wants it yet, so that the gap is not waited for
    // When the one before it left. The first record after a quiet time is not delayed.
    int64_t before_us = INT64_MIN / 2;
    int64_t gap_us = 0;   // at the present rate
    int64_t counted = 0;  // records since then
    int64_t counted_from_us = INT64_MIN / 2;
  };

  bool adaptive() const { return options_.flush == BatchFlush::kAdaptive; }
  bool Batching(uint32_t devices);
  size_t MaxBytes(uint8_t record_class) const;
  bool IsWanted(uint8_t record_class) const;
  int64_t DeadlineOf(const Open& open) const;
  int64_t GapOf(const Open& open) const;
  void Pace(Open* open, int64_t now_us) const;
  void Seal(Open* open, SealReason reason);

  const BatcherOptions options_;
  Sink* const sink_;
  bool batching_ = false;
  const std::array<int64_t, kClasses + 1>* longest_us_ = nullptr;
  ClassMask hasty_ = 0;
  std::vector<Appetite*> uplinks_;
  std::string encoded_;                  // the record at hand; kept for its memory
  std::array<Open, kClasses + 1> open_;  // index = class
};

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_BATCHER_H_
