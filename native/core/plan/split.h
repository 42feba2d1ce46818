// The split stage: a record goes to the next stage of the part that its device id begins with.
//
// The id "acme:pump-1" has the part "acme" and goes on as device "pump-1". Everything on the side
// of the device (its connection, receipts, commands and sequence numbers) keeps the whole id, so
// equal names in two parts are two devices.
#ifndef SEGANET_CORE_PLAN_SPLIT_H_
#define SEGANET_CORE_PLAN_SPLIT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/status.h"
#include "core/queue/lanes.h"
#include "core/record/part.h"

namespace seganet {

// A part of a split stage, and its limits.
struct SplitPart {
  std::string name;     // 1..kMaxPartBytes bytes, without kPartEnd
  uint32_t rate = 0;    // records per second of all its devices, 0 = no limit, ..kMaxPartRate
  uint64_t budget = 0;  // bytes that may wait for its uplinks, 0 = no limit, ..kMaxPartBudget
  bool operator==(const SplitPart&) const = default;
};

inline constexpr size_t kMaxParts = 1024;
inline constexpr uint32_t kMaxPartRate = 1'000'000;
inline constexpr uint64_t kMaxPartBudget = uint64_t{1} << 50;

// Checks the number of parts, their names and limits. Names are unique.
Status ValidateParts(const std::vector<SplitPart>& parts);

// Bytes of an uplink's batches that are only on disk (Ledger::DiskBytes).
using BytesOnDisk = std::shared_ptr<const std::atomic<int64_t>>;

// What waits for the uplinks of a part.
class Holdings {
 public:
  void AddLanes(std::shared_ptr<const Lanes> lanes);
  void AddStored(BytesOnDisk stored);
  // Returns the bytes in memory and those that are only on disk. Open batches are not included.
  int64_t bytes() const;

 private:
  std::vector<std::shared_ptr<const Lanes>> lanes_;
  std::vector<BytesOnDisk> stored_;
};

// Limits the records per second of a part. A part that was silent for a second may send the records
// of a second at once.
//
// Thread safety: any member from any thread.
class PartRate {
 public:
  // Returns true and counts a record if one may pass. `now_us` is the CLOCK_MONOTONIC time; that of
  // another thread may be a little later. REQUIRES: per_s is 1..kMaxPartRate.
  bool Pay(uint32_t per_s, int64_t now_us);

 private:
  // When the records so far are paid for, ns.
  std::atomic<int64_t> paid_ns_{INT64_MIN / 2};
};

// What a part keeps when the plan changes.
struct PartUse {
  PartRate rate;
  std::atomic<uint64_t> refused{0};  // records above its budget or its rate
};

// Thread safety: any member from any thread. Workers share the limits of a part.
class Split {
 public:
  class Part {
   public:
    Part(const SplitPart& options, size_t index, Holdings holdings, std::shared_ptr<PartUse> use)
        : options_(options), index_(index), holdings_(std::move(holdings)), use_(std::move(use)) {}

    // True if the part is within its budget and its rate. Counts the record.
    bool Admits(int64_t now_us) const {
      const bool fits =
          IsWithinBudget() && (options_.rate == 0 || use_->rate.Pay(options_.rate, now_us));
      if (!fits) use_->refused.fetch_add(1, std::memory_order_relaxed);
      return fits;
    }

    // Returns the bytes that wait for its uplinks, in memory and on disk.
    int64_t waiting_bytes() const { return holdings_.bytes(); }
    // Returns the records that were not admitted, since a plan has the part.
    uint64_t refused() const { return use_->refused.load(std::memory_order_relaxed); }

    // Returns the index of its stage in StageSpec::next.
    size_t index() const { return index_; }

   private:
    friend class Split;

    bool IsWithinBudget() const {
      return options_.budget == 0 || holdings_.bytes() < static_cast<int64_t>(options_.budget);
    }

    const SplitPart options_;
    const size_t index_;
    const Holdings holdings_;
    const std::shared_ptr<PartUse> use_;
  };

  struct Route {
    const Part* part = nullptr;  // null = the id has no part, or one that this stage does not have
    std::string_view device;     // the id without the part; not empty
  };

  // Parts that `before` (may be null) has too keep the records that they have paid for, and their
  // count of refused ones. `holdings` has one element for each part. REQUIRES:
  // ValidateParts(parts).ok().
  Split(const std::vector<SplitPart>& parts, std::vector<Holdings> holdings, const Split* before);
  Split(const Split&) = delete;
  Split& operator=(const Split&) = delete;

  // Finds the part of a device id: what precedes its first ':'.
  Route Find(std::string_view device) const;
  // Returns the part with this name, null = none.
  const Part* PartOf(std::string_view name) const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  std::unordered_map<std::string, Part, Hash, std::equal_to<>> parts_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_PLAN_SPLIT_H_
