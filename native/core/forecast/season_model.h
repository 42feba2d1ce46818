// The model of a series: forecasts its next value from the season, and learns from it. Independent
// of records, tables and threads.
//
// Time is divided into slots. A value is compared with the forecast of its slot, which is made from
// the slots before it, and the mean of a slot's values is learned when the slot is over. Seasonal
// naive: the slot's value one season ago. Holt-Winters: exponential smoothing with additive errors,
// damped additive trend and additive season, ETS(A,Ad,A) in Hyndman et al., "Forecasting with
// Exponential Smoothing" (2008), chapter 2. Its parameters are not fitted to a history, which would
// have to be kept, but adapted: residuals of good parameters are white noise, so the smoothing of
// the level grows while successive residuals have the same sign and shrinks while they alternate,
// and the smoothing of the season does so by the residuals of a slot in successive seasons.
#ifndef SEGANET_CORE_FORECAST_SEASON_MODEL_H_
#define SEGANET_CORE_FORECAST_SEASON_MODEL_H_

#include <algorithm>
#include <cstdint>

#include "core/forecast/forecast_options.h"
#include "core/forecast/series_state.h"

namespace seganet {

// What a value was compared with.
struct ForecastVerdict {
  bool has_forecast = false;  // the numbers are valid: a season is complete
  double expected = 0;
  double low = 0;  // nine of ten values are between these
  double high = 0;
  double sigma = 0;
  bool trusted = false;  // kTrustedSeasons are complete, and nothing contradicts the model
  bool anomaly = false;  // only if trusted
  bool late = false;     // it belongs to an earlier slot, and was not learned
};

// Why a forecast is not trusted.
enum class ForecastDoubt : uint8_t {
  kNone,
  kSeasons,  // fewer than kTrustedSeasons are complete
  kSlots,    // too few slots had values
  kShift,    // the level is another one, and is set by the next slot with values
  kSlot      // this slot never had a value
};

// What is expected, and the limits between which nine of ten values are.
struct ForecastBand {
  double expected = 0;
  double low = 0;
  double high = 0;
};

// Thread safety: immutable after construction.
class SeasonModel {
 public:
  // Seasons before a forecast is trusted: one for the season, one for the trend and the first
  // residuals, and one that confirms them. Of a pause, one season counts.
  static constexpr uint32_t kTrustedSeasons = 3;
  // Slots with residuals before a forecast is trusted, or a season of them.
  static constexpr uint32_t kTrustedSlots = 24;
  // Before that, no sigma tells outliers from noise. Of this many slots with residuals, the one
  // with the largest counts as three sigmas of the others at most. What is rarer is an outlier.
  static constexpr uint32_t kStartGroup = 16;
  // Values outside the band on each side.
  static constexpr double kLowShare = 0.05;
  // Slots in a row that are far off, in one direction, before the series counts as shifted. The
  // seasonal naive model repeats what lasts longer than a season anyway.
  static constexpr int kShiftSlots = 8;
  static constexpr int kNaiveShiftSlots = 15;
  // Values in a row with an earlier slot before the clock counts as set back.
  static constexpr uint8_t kLateValues = 8;

  // REQUIRES: Validate(options).ok().
  explicit SeasonModel(const ForecastOptions& options)
      : model_(options.model),
        slots_(options.slots),
        period_ms_(options.period_s * int64_t{1000}) {}

  // Begins a series; `season` has room for slots() floats.
  void Begin(double value, int64_t ts_ms, SeriesState* state, float* season) const;
  // Compares a value with the forecast, and learns it. REQUIRES: `state` and `season` were begun,
  // |value| <= kMaxForecastValue.
  ForecastVerdict Observe(double value, int64_t ts_ms, double sigmas, double least,
                          SeriesState* state, float* season) const;
  // Goes to the slot of a time, if that is later. What precedes it is over: values of earlier slots
  // are late.
  void GoTo(int64_t ts_ms, SeriesState* state, float* season) const;
  // Returns what is expected of the slots from a time until before another one, at most a season of
  // them: the mean, and the widest limits. For slots that are over, this is what the model expects
  // of them with what it has learned since. REQUIRES: HasForecast(state), from_ms < to_ms.
  ForecastBand BandOver(int64_t from_ms, int64_t to_ms, const SeriesState& state,
                        const float* season) const;
  // True if a season is complete.
  bool HasForecast(const SeriesState& state) const { return state.age >= slots_; }
  // Returns why the forecast of the current slot is not trusted.
  ForecastDoubt DoubtOf(const SeriesState& state, const float* season) const;
  // True if the numbers can be those of a series, such as after reading them from a file.
  bool IsValid(const SeriesState& state, const float* season) const;

  uint32_t slots() const { return slots_; }
  // Returns the slot of a time since 1970.
  uint32_t SlotOf(int64_t ts_ms) const;

 private:
  double Expected(const SeriesState& state, float seasonal) const;
  double Scale(const SeriesState& state, float seasonal) const;
  ForecastDoubt Doubt(const SeriesState& state, float seasonal) const;
  // True if there were seasons and residuals enough to trust a forecast.
  bool HasStarted(const SeriesState& state) const {
    return state.age >= kTrustedSeasons * slots_ &&
           state.learned >= std::max(slots_, kTrustedSlots);
  }
  bool IsTrusted(const SeriesState& state, float seasonal) const {
    return Doubt(state, seasonal) == ForecastDoubt::kNone;
  }
  ForecastBand Around(double expected, const SeriesState& state) const;
  bool Enter(uint32_t slot, SeriesState* state, float* season) const;
  void Complete(SeriesState* state, float* season) const;
  void EndFirstSeason(SeriesState* state, float* season) const;
  void Advance(uint32_t slots, SeriesState* state) const;
  void Smooth(double residual, double scale, SeriesState* state, float* seasonal) const;
  void Spread(double residual, double clip, bool clips, SeriesState* state) const;
  void Gather(uint32_t points, SeriesState* state) const;
  void EndStart(SeriesState* state) const;
  void AddSquare(double root, double count, SeriesState* state) const;

  const ForecastModel model_;
  const uint32_t slots_;
  const int64_t period_ms_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_FORECAST_SEASON_MODEL_H_
