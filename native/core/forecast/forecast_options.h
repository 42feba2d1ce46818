// Options of a forecast stage.
#ifndef SEGANET_CORE_FORECAST_FORECAST_OPTIONS_H_
#define SEGANET_CORE_FORECAST_FORECAST_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/base/status.h"

namespace seganet {

enum class ForecastModel : uint8_t {
  kSeasonalNaive,  // the value of this slot in the previous season
  kHoltWinters     // level, damped trend and season, all additive
};

struct ForecastOptions {
  // The model. A change of one of these begins with nothing learned.
  ForecastModel model = ForecastModel::kHoltWinters;
  std::string path = "$";      // of the value (record/condition.h)
  uint32_t period_s = 86'400;  // of the season, slots..kMaxForecastPeriodS
  uint32_t slots = 24;         // of a season, kMinForecastSlots..kMaxForecastSlots

  // What the stage makes of it.
  double sigmas = 4;  // a value farther than this from the forecast is an anomaly, 1..100
  // A deviation up to this is no anomaly, in the unit of the value, 0 or more.
  double least = 0;
  uint8_t record_class = 1;  // of anomalies, unless theirs is more urgent; 0 = theirs, 0..kClasses
  bool annotate = false;     // messages of this stage say what was expected (Record::note)
  uint32_t max_series = 10'000;  // 1..kMaxForecastSeries, and together kMaxForecastBytes
  // True: records pass unscored until Forecasts::Restore has ended or Begin was called.
  bool restores = false;

  bool operator==(const ForecastOptions&) const = default;
  // True if what was learned with `other` is valid.
  bool SameModel(const ForecastOptions& other) const {
    return model == other.model && path == other.path && period_s == other.period_s &&
           slots == other.slots;
  }
};

inline constexpr uint32_t kMaxForecastPeriodS = 366 * 86'400;
inline constexpr uint32_t kMinForecastSlots = 2;
inline constexpr uint32_t kMaxForecastSlots = 1024;
inline constexpr uint32_t kMaxForecastSeries = 1'000'000;
inline constexpr size_t kMaxForecastBytes = size_t{256} << 20;

Status Validate(const ForecastOptions& options);

}  // namespace seganet

#endif  // SEGANET_CORE_FORECAST_FORECAST_OPTIONS_H_
