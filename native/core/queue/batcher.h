// Collects the records of each class until a limit is reached (SegaNet, "Efficient message
// batching": n, m, t), or, if adaptive, until the uplink can send them. An adaptive batch stays
// open while the link is busy with earlier batches, so its size follows the load. It may wait
// longer to save bytes (queue/thrift.h).
#ifndef SEGANET_CORE_QUEUE_BATCHER_H_
#define SEGANET_CORE_QUEUE_BATCHER_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/require.h"
#include "core/base/status.h"
#include "core/queue/batch.h"
#include "core/queue/demand.h"
#include "core/queue/thrift.h"
#include "core/record/record.h"

namespace seganet {

// What a batch contains.
enum class BatchMode : uint8_t {
  kEnvelope,  // one PUBLISH, with one line per record
  kRecords,   // one PUBLISH per record; the batch is sent in one TLS record
  kOff,       // no batching: each record is sent at once
};

// When a batch is sealed.
enum class BatchFlush : uint8_t {
  kLimits,    // by n, m and t
  kAdaptive,  // when an uplink has nothing else to send, or by the m of its link and t
};

struct BatcherOptions {
  BatchMode mode = BatchMode::kEnvelope;
  BatchFlush flush = BatchFlush::kLimits;
  // n: batching starts at this many connected devices and stops below 90 % of it. 0 = always batch.
  // No effect with kAdaptive.
  uint32_t min_devices = 50;
  // m: a batch is sealed before it would exceed this size, 1..kMaxBatchBytes. A larger record is a
  // batch of its own. With kAdaptive, the upper limit of the link's m.
  uint32_t max_bytes = 1024;
  // t: a batch is sealed when its oldest record is this old, 1..kMaxDelayMs.
  uint32_t max_delay_ms = 1000;
  // kAdaptive: time between two batches of a class, unless m is reached first, at kBusyRecordsPerS
  // records per second or more; proportionally less below. The first batch after a pause is sealed
  // at the end of its wake-up. 0..kMaxGapUs, 0 = a batch may be sealed at each wake-up.
  uint32_t gap_us = 2'000;
  // kAdaptive: whether a batch waits for more records although an uplink demands it, and, by class,
  // how long a record may take from its arrival to its acknowledgment because of that, 0..
  // kMaxDelayMs. Without demand, a batch stays open until t or the patience, whichever is longer.
  Thrift thrift = Thrift::kFast;
  std::array<uint32_t, kClasses + 1> patience_ms{};
  // Classes up to this one never wait, 0..kClasses.
  uint8_t immediate_class = kCritical;

  bool operator==(const BatcherOptions&) const = default;
};

inline constexpr uint32_t kMaxBatchBytes = 1024 * 1024;
inline constexpr uint32_t kMaxDelayMs = 24 * 3600 * 1000;
inline constexpr uint32_t kMaxGapUs = 1'000'000;

// Rate of a class, in records per second, from which on the whole gap applies. At lower rates a
// batch has few records, which saves too little to justify the delay.
inline constexpr int64_t kBusyRecordsPerS = 3'000;
// Length of the window in which the rate is measured, and, where batches wait to save bytes, the
// number of records that end it before kSlowRateWindowUs.
inline constexpr int64_t kRateWindowUs = 50'000;
inline constexpr int64_t kRateRecords = 16;
inline constexpr int64_t kSlowRateWindowUs = 1'000'000;

// Checks the ranges of the options.
Status Validate(const BatcherOptions& options);

// Batches never mix classes. Batches of one class are sealed in the order of Add.
//
// Thread safety: owned by one worker.
class Batcher {
 public:
  // Receives the sealed batches.
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual void OnBatch(BatchPtr batch) = 0;
  };

  // `sink` must outlive the batcher. REQUIRES: Validate(options).ok().
  Batcher(const BatcherOptions& options, Sink* sink) : options_(options), sink_(sink) {
    SEGANET_REQUIRE(Validate(options).ok());
  }
  ~Batcher() { SetDemands({}); }
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  // Sets the uplinks that the batches go to, for kAdaptive. A demand of any of them seals a batch,
  // and the smallest m applies. Without uplinks, the batches become messages for JavaScript, and
  // demand is permanent. The pointers must stay valid until the next call or the end of the
  // batcher.
  void SetDemands(std::vector<Demand*> uplinks);

  // Where to report by class how long batches wait at most because of BatcherOptions::thrift, ms.
  // Null = nowhere. The same pointer may be set in several batchers; the latest report counts.
  using Waits = std::array<std::atomic<uint32_t>, kClasses + 1>;
  void SetWaits(Waits* waits) { waits_ = waits; }

  // Sets whether each record that is added from now on keeps its own time and number, which an
  // envelope has in any case. Initially false.
  void SetStamped(bool is_stamped) { is_stamped_ = is_stamped; }

  // Adds a record. `devices` is the number of connected devices, which decides whether to batch.
  void Add(const Record& record, uint32_t devices);

  // Ends a turn: the caller has added all records of one wake-up. Checks the demand of the uplinks
  // once per open class, not once per record. A batch without demand waits; when Demand::Raise
  // returns true, its caller must have this called again.
  void EndTurn(int64_t now_us);

  // Seals the batches that are due, and ends the turn. Call it at NextDeadline() or later.
  void OnTime(int64_t now_us);

  // Returns the CLOCK_MONOTONIC time at which the first batch is due, kNever if none is open.
  int64_t NextDeadline() const;

  // Limits how long batches of these classes stay open (by class, µs), even if t is longer, because
  // their devices wait for the log. `longest_us` must stay valid until the next call.
  void SetMaxOpenTime(const std::array<int64_t, kClasses + 1>* longest_us, ClassMask classes) {
    longest_us_ = longest_us;
    limited_ = classes;
  }

  // Seals the open batches of these classes, most urgent class first.
  void Flush(SealReason reason, ClassMask classes = kAllClasses);

  // True if a batch is open. Without one, EndTurn, OnTime and Flush have no effect.
  bool has_open() const { return open_batches_ > 0; }

  const BatcherOptions& options() const { return options_; }

 private:
  // An open batch, and its size as it counts against max_bytes.
  struct Open {
    BatchPtr batch;
    size_t size = 0;
    bool held = false;  // no uplink has a demand, so the gap sets no deadline
    // When the previous batch was sealed. Initially long ago: the first record is not delayed.
    int64_t before_us = INT64_MIN / 2;
    int64_t gap_us = 0;   // at the current rate
    int64_t wait_us = 0;  // of thrift, at the current rate
    int64_t per_s = 0;    // the rate that thrift knows
    int64_t counted = 0;  // records since counted_from_us
    int64_t counted_from_us = INT64_MIN / 2;
  };

  bool adaptive() const { return options_.flush == BatchFlush::kAdaptive; }
  bool saves() const { return adaptive() && options_.thrift != Thrift::kFast; }
  bool Batching(uint32_t devices);
  size_t MaxBytes(uint8_t record_class) const;
  bool IsWanted(uint8_t record_class) const;
  int64_t DeadlineOf(const Open& open) const;
  int64_t GapOf(const Open& open) const;
  void AdaptGap(Open* open, int64_t now_us) const;
  void AdaptWait(Open* open) const;
  void Seal(Open* open, SealReason reason);

  const BatcherOptions options_;
  Sink* const sink_;
  bool batching_ = false;
  bool is_stamped_ = false;
  const std::array<int64_t, kClasses + 1>* longest_us_ = nullptr;
  ClassMask limited_ = 0;
  std::vector<Demand*> uplinks_;
  Waits* waits_ = nullptr;
  std::string encoded_;                  // buffer for the current record, reused
  std::array<Open, kClasses + 1> open_;  // index = class
  size_t open_batches_ = 0;
};

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_BATCHER_H_
