// The series of one forecast stage: those of each worker, and those that wait for their worker.
#ifndef SEGANET_CORE_FORECAST_FORECASTS_H_
#define SEGANET_CORE_FORECAST_FORECASTS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/counters.h"
#include "core/forecast/forecast_options.h"
#include "core/forecast/season_model.h"
#include "core/forecast/series_table.h"
#include "core/record/json_values.h"
#include "core/record/record.h"

namespace seganet {

// Sums over the workers.
struct ForecastFigures {
  uint64_t points = 0;     // values that were compared or learned
  uint64_t anomalies = 0;  // of these
  uint64_t untrusted = 0;  // of these, values whose forecast was not trusted
  uint64_t late = 0;       // of these, values of an earlier slot, which were not learned
  uint64_t refused = 0;    // values of series for which there was no room
  uint64_t skipped = 0;    // records without a number, and records before Restore or Begin
  int64_t series = 0;      // known now
};

// Where Save goes on.
struct ForecastCursor {
  uint32_t part = 0;             // a worker; the number of workers = series that wait
  uint32_t before = UINT32_MAX;  // positions below this one follow
};

enum class ForecastRestore : uint8_t {
  kMore,    // call it again
  kDone,    // all is restored, and records are scored from now on
  kOther,   // of another model; nothing is restored
  kDamaged  // the rows before the damage are restored
};

enum class ForecastTeach : uint8_t {
  kDone,
  kFull,   // there is no room for the series
  kOther,  // the stage has another model
  kBegun   // too late: records are scored already
};

struct ForecastAnomaly {
  uint64_t key = 0;
  int64_t ts_ms = 0;
  double value = 0;
};

// A copy of a series.
struct ForecastView {
  bool is_known = false;  // the others are valid
  SeriesState state;
  std::vector<float> season;
  std::vector<ForecastAnomaly> anomalies;  // oldest first, if of one worker
};

// A series belongs to the worker of its device, which alone touches it: scoring takes no lock. A
// series waits, under a lock, after a restart and while its device moves to another worker. The
// worker that first gets a value of the series takes it from there.
//
// Thread safety: Score and Leave by the worker that they name; SavePart and Look of a worker by
// that worker, of the waiting series by any thread; Restore, Teach, Begin and KeyOf by one thread;
// the others by any thread.
class Forecasts {
 public:
  // A series that had no value for this many seasons makes room for another one.
  static constexpr uint32_t kForgetSeasons = 8;
  // Anomalies of each worker that Look finds: the latest ones.
  static constexpr size_t kNotedAnomalies = 256;

  // REQUIRES: Validate(options).ok().
  Forecasts(const ForecastOptions& options, size_t workers);
  Forecasts(const Forecasts&) = delete;
  Forecasts& operator=(const Forecasts&) = delete;

  // Compares a record's value with its forecast, and learns it. Returns false if it has none, or
  // there is no room for its series. REQUIRES: options.SameModel of the constructor.
  bool Score(size_t worker, const ForecastOptions& options, const Record& record,
             ForecastVerdict* verdict);

  // The devices in the placement slots for which `leaves` is true move to another worker.
  void Leave(size_t worker, const std::function<bool(uint32_t place)>& leaves);

  ForecastFigures figures() const;
  // Bytes of all tables. Not exact while workers add series.
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

  // The state as bytes, for a file: a header, and rows of SavePart. docs/reference/log-format.md
  // describes both.
  std::string Header() const;
  // Appends rows of cursor->part, about 256 KiB, and moves the cursor. Returns false after the last
  // part. `now_ms` is CLOCK_REALTIME: what waits and is forgotten by then is removed. A series that
  // changes its worker meanwhile may be saved twice or not at all.
  bool SavePart(int64_t now_ms, ForecastCursor* cursor, std::string* rows);
  // Adds rows from *at on, a limited number of them, and moves *at. The later one of two rows of
  // a series counts. REQUIRES: !ready().
  ForecastRestore Restore(std::string_view content, size_t* at);
  // Learns values of earlier times for a series, oldest first, and that the history is complete
  // until a time: values of slots before the one of `until_ms` are late from then on. Call it with
  // the next values of the series, or with those of another one. Values that are no numbers or
  // beyond kMaxForecastValue are left out. `options` tell the model for which the values are meant.
  // Work: `count` values.
  ForecastTeach Teach(const ForecastOptions& options, std::string_view device,
                      std::string_view topic, const double* times_ms, const double* values,
                      size_t count, int64_t until_ms);
  // Records are scored from now on. Called by Restore when all is restored.
  void Begin() { ready_.store(true, std::memory_order_release); }
  bool ready() const { return ready_.load(std::memory_order_acquire); }

  uint64_t KeyOf(std::string_view device, std::string_view topic) const;
  // Copies a series of a worker, or one that waits (part = number of workers), and its anomalies
  // that the worker noted. If *view has another copy already, the one with the later slot stays.
  void Look(size_t part, uint64_t key, ForecastView* view);
  const SeasonModel& model() const { return model_; }

 private:
  struct alignas(64) Part {
    explicit Part(uint32_t slots) : table(slots) {}
    SeriesTable table;
    size_t hand = 0;  // where MakeRoom looks next
    size_t known_bytes = 0;
    std::array<ForecastAnomaly, kNotedAnomalies> noted;  // a ring
    size_t notes = 0;
    SingleWriter points;
    SingleWriter anomalies;
    SingleWriter untrusted;
    SingleWriter late;
    SingleWriter refused;
    SingleWriter skipped;
  };

  Series Take(Part* part, uint64_t key, std::string_view device, double value, int64_t ts_ms,
              uint32_t max_series, bool* is_new);
  bool MakeRoom(Part* part, int64_t ts_ms);
  void NoteSlot(uint32_t slot);
  bool IsForgotten(const SeriesState& state, uint32_t now) const;
  void CountBytes(SeriesTable* table, size_t* known);
  size_t row_bytes() const { return sizeof(SeriesState) + model_.slots() * sizeof(float); }

  const ForecastOptions options_;
  const SeasonModel model_;
  JsonPaths paths_;
  size_t path_ = 0;
  uint64_t secret_;          // of the keys; changes only before ready_
  bool has_header_ = false;  // Restore has read it
  std::vector<std::unique_ptr<Part>> parts_;
  std::atomic<bool> ready_;
  std::atomic<int64_t> series_{0};
  std::atomic<size_t> bytes_{0};
  std::atomic<uint32_t> newest_{0};  // latest slot in which a series began or was restored
  std::mutex lock_;                  // guards waiting_
  SeriesTable waiting_;
  size_t waiting_bytes_ = 0;
  std::atomic<size_t> waits_{0};  // waiting_.size()
};

// Appends what a value was compared with, as the members of a message: {"forecast":{…}}.
void AppendVerdict(const ForecastVerdict& verdict, std::string* out);

}  // namespace seganet

#endif  // SEGANET_CORE_FORECAST_FORECASTS_H_
