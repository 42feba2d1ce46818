// Collects the records of each class until a limit is met (SegaNet, "Efficient message batching":
// n, m, t).
#ifndef SEGANET_CORE_QUEUE_BATCHER_H_
#define SEGANET_CORE_QUEUE_BATCHER_H_

#include <array>
#include <cstdint>
#include <string>

#include "core/base/clock.h"
#include "core/base/status.h"
#include "core/queue/batch.h"
#include "core/record/record.h"

namespace seganet {

enum class BatchMode : uint8_t {
  kEnvelope,  // one PUBLISH with a line a record
  kRecords,   // records keep their own PUBLISH; a batch leaves in one TLS record
  kOff,       // every record leaves on its own at once
};

struct BatcherOptions {
  BatchMode mode = BatchMode::kEnvelope;
  uint32_t min_devices =
      50;  // n: no batching below; stops again below 90 % of it. 0 = always batch
  uint32_t max_bytes =
      1024;  // m: sealed before it would be larger (a larger record is a batch of its own)
  uint32_t max_delay_ms = 1000;         // t: sealed when its oldest record is this old
  uint8_t immediate_class = kCritical;  // classes up to this one never wait

  bool operator==(const BatcherOptions&) const = default;
};

inline constexpr uint32_t kMaxBatchBytes = 1024 * 1024;
inline constexpr uint32_t kMaxDelayMs = 24 * 3600 * 1000;

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

  // `devices` is the number of connected devices, which decides whether to batch at all.
  void Add(const Record& record, uint32_t devices);

  // Seals what is due. To be called at NextDeadline() or later.
  void OnTime(int64_t now_us);

  // CLOCK_MONOTONIC of the first batch that falls due, kNever when none is open.
  int64_t NextDeadline() const;

  // No batch stays open longer than this (by class, µs; null = no such limit), whatever t says: its
  // devices wait for the log.
  void SetHaste(const std::array<int64_t, kClasses + 1>* longest_us) { longest_us_ = longest_us; }

  // Seals every open batch, most urgent class first.
  void Flush(SealReason reason);

  const BatcherOptions& options() const { return options_; }

 private:
  // A batch being filled, and what counts against max_bytes.
  struct Open {
    BatchPtr batch;
    size_t size = 0;
  };

  bool Batching(uint32_t devices);
  int64_t DeadlineOf(const Open& open) const;
  void Seal(Open* open, SealReason reason);

  const BatcherOptions options_;
  Sink* const sink_;
  bool batching_ = false;
  const std::array<int64_t, kClasses + 1>* longest_us_ = nullptr;
  std::string encoded_;                  // the record at hand; kept for its memory
  std::array<Open, kClasses + 1> open_;  // index = class
};

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_BATCHER_H_
