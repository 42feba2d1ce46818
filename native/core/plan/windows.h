// Tumbling windows: aggregates of the records of each device and topic.
#ifndef SEGANET_CORE_PLAN_WINDOWS_H_
#define SEGANET_CORE_PLAN_WINDOWS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/clock.h"
#include "core/base/keyed_hash.h"
#include "core/plan/window_options.h"
#include "core/queue/budget.h"
#include "core/record/json_values.h"
#include "core/record/receipt.h"
#include "core/record/record.h"

namespace seganet {

// The numbers of one value in a window.
struct WindowValue {
  uint32_t count = 0;
  double first = 0;
  double last = 0;
  double min = 0;
  double max = 0;
  double sum = 0;
  double lost = 0;  // what rounding took from `sum` (Neumaier)

  // REQUIRES: the number is finite.
  void Add(double number);
  // Both may be infinite or NaN if the numbers are very large.
  double Sum() const { return sum + lost; }
  double Mean() const { return Sum() / count; }
};

// Why a window ended.
enum class WindowEnd : uint8_t {
  kTime,     // its time was over
  kRecords,  // it has WindowOptions::records
  kEarly,    // a limit, a deploy, a flush, the stop of the engine, or a device that moved
};

// The window of one device and topic.
struct Window {
  uint64_t key = 0;
  std::string device;
  std::string topic;
  std::vector<WindowValue> values;  // as in WindowOptions::values
  uint8_t record_class = 0;         // most urgent of its records
  uint8_t flags = 0;                // kFlagQos1 if one of its records has it
  uint32_t records = 0;
  uint32_t seq = 0;     // of the last record
  int64_t ts_ms = 0;    // of the last record
  int64_t from_ms = 0;  // CLOCK_REALTIME
  int64_t to_ms = 0;    // of the last record until the window ends
  int64_t end_us = 0;   // CLOCK_MONOTONIC; when it ended, if it ended early
  size_t bytes = 0;     // in the budget
  // WindowOptions::hold: of its records, with those of Record::deferred.
  std::vector<Receipt> receipts;
  bool has_receipts = false;  // `receipts` has a Record::receipt
  bool has_deferred = false;  // `receipts` has a Record::deferred
};

// Appends the payload of a window's record (docs/reference/rules.md).
void AppendWindow(const Window& window, const WindowOptions& options, WindowEnd end,
                  std::string* out);

// What the windows of an engine occupy. Thread safety: any thread.
struct WindowTotals {
  std::atomic<int64_t> open{0};
  std::atomic<int64_t> bytes{0};
};

// The windows of one stage on one worker. Their memory counts in the budget. When the windows of
// the engine have a quarter of it, one more ends the oldest one of its stage early.
//
// Thread safety: owned by one worker.
class Windows {
 public:
  // Takes the windows that ended, those of a device and topic in order. The window is valid during
  // the call, and the sink may move its receipts out.
  using Sink = std::function<void(Window* window, WindowEnd end)>;

  // `budget` and `totals` must outlive the windows. REQUIRES: Validate(options).ok().
  Windows(const WindowOptions& options, Budget* budget, WindowTotals* totals, Sink sink);
  // Windows that are still open are lost.
  ~Windows();
  Windows(const Windows&) = delete;
  Windows& operator=(const Windows&) = delete;

  // Adds a record to the window of its device and topic. Returns false, and does not add it, if
  // none of the values is a finite number in its payload. `wall_us` is CLOCK_REALTIME at
  // record.arrived_us, µs. May end windows, also that of the record. Time: that of JsonPaths::Read.
  bool Add(const Record& record, int64_t wall_us);

  // Ends windows whose time is over, oldest first, at most `most`. Returns how many.
  size_t EndDue(int64_t now_us, size_t most);
  // Ends the windows of the devices for which `ends` is true, early; null = of all devices. Returns
  // how many.
  size_t EndEarly(const std::function<bool(std::string_view device)>& ends, int64_t now_us);

  // Returns when EndDue must be called, CLOCK_MONOTONIC; kNever if no window is open.
  int64_t NextEnd() const { return open_.empty() ? kNever : open_.front().end_us; }

  size_t open() const { return open_.size(); }
  const WindowOptions& options() const { return options_; }

 private:
  using Place = std::list<Window>::iterator;

  Place Begin(uint64_t key, const Record& record, int64_t wall_us);
  void MakeRoom(size_t bytes, int64_t now_us);
  void Count(Place window, const Record& record, const JsonValues& values);
  void Hold(Place window, const Record& record);
  void Charge(Place window, size_t bytes);
  void End(Place window, WindowEnd end, int64_t now_us);

  const WindowOptions options_;
  Budget* const budget_;
  WindowTotals* const totals_;
  const Sink sink_;
  JsonPaths paths_;
  std::vector<size_t> numbers_;  // path of each value in paths_
  // Keys are hashes that nobody can predict.
  const SecretNumbers hash_;
  std::list<Window> open_;  // in the order in which they end
  std::unordered_map<uint64_t, Place> places_;
  // Options::aligned: the current window of all devices.
  int64_t aligned_end_us_ = INT64_MIN;
  int64_t aligned_from_ms_ = 0;
};

}  // namespace seganet

#endif  // SEGANET_CORE_PLAN_WINDOWS_H_
