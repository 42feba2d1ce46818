// The filter stage: which records pass.
#ifndef SEGANET_CORE_PLAN_FILTER_H_
#define SEGANET_CORE_PLAN_FILTER_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/keyed_hash.h"
#include "core/base/status.h"
#include "core/plan/window_options.h"
#include "core/record/condition.h"
#include "core/record/record.h"

namespace seganet {

enum class FilterMode : uint8_t {
  kPass,    // records for which the condition holds
  kBlock,   // records for which it does not hold
  kChange,  // report by exception: records whose value has changed
  kRate,    // at most so many records per time of each device
  kRange,   // records whose value lies in a range
  kWindow   // aggregates of records (plan/windows.h)
};

// Specification of a filter stage. Only the members of its mode apply.
struct FilterOptions {
  FilterMode mode = FilterMode::kPass;
  std::string when = {};   // kPass, kBlock: condition (record/condition.h)
  std::string path = "$";  // kChange, kRange: path of the value
  // kChange: a number must differ by more than this from the one that passed last, 0 or more; if
  // `percent`, in percent of the latter.
  double band = 0;
  bool percent = false;
  // kChange: a record passes if none has passed for this long, s; 0 = only changes, ..kMaxFilterS.
  uint32_t every_s = 0;
  uint32_t records = 1;   // kRate: 1..1,000,000
  uint32_t period_s = 1;  // kRate: 1..kMaxFilterS
  double low = 0;         // kRange: low <= value <= high
  double high = 0;
  WindowOptions window{};  // kWindow

  bool operator==(const FilterOptions&) const = default;
};

inline constexpr uint32_t kMaxFilterS = 86'400;
inline constexpr uint32_t kMaxFilterRecords = 1'000'000;

// Devices and topics that a filter remembers on a worker, about 2 MiB. One more evicts the one that
// was seen least recently; its next record then passes.
inline constexpr size_t kMaxFilterKeys = 16'384;

Status Validate(const FilterOptions& options);

// The filter of one stage on one worker.
//
// Thread safety: owned by one worker.
class Filter {
 public:
  // REQUIRES: Validate(options).ok(), options.mode is not kWindow.
  explicit Filter(const FilterOptions& options);
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  // True if the record passes. Time: that of JsonPaths::Read. Uses record.arrived_us.
  bool Passes(const Record& record);

  // Call it if nothing took the record that passed last. The device sends that record again, and it
  // passes again.
  void Forget();

  // Devices and topics that it remembers.
  size_t keys() const { return latest_.size(); }

 private:
  // What it remembers of a device, or of a device and topic.
  struct Known {
    uint64_t key = 0;
    JsonKind kind = JsonKind::kMissing;  // kChange: of the value that passed last
    double number = 0;                   // kChange: if it is a number
    uint64_t text = 0;                   // kChange: hash of its text if it is not
    int64_t at_us = 0;                   // kChange: when it passed; kRate: begin of the period
    uint32_t count = 0;                  // kRate: records that passed in the period
  };

  bool HasChanged(const Record& record);
  bool IsWithinRate(const Record& record);
  // Returns what is known of the key; `*is_new` = nothing is.
  Known* Remember(std::string_view device, std::string_view topic, bool* is_new);
  bool Differs(const Known& last, const Known& now) const;

  const FilterOptions options_;
  JsonPaths paths_;
  Condition condition_;
  size_t path_ = 0;
  // Keys are hashes that nobody can predict, so that long ids and topics need no memory.
  const SecretNumbers hash_;
  std::list<Known> known_;  // least recently seen first
  bool has_seen_ = false;   // the last record had a key: that of known_.back()
  std::unordered_map<uint64_t, std::list<Known>::iterator> latest_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_PLAN_FILTER_H_
