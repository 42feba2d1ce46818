#include "core/forecast/forecast_options.h"

#include "core/forecast/series_state.h"
#include "core/record/condition.h"
#include "core/record/record.h"

namespace seganet {

Status Validate(const ForecastOptions& options) {
  Path path;
  if (const Status status = ParsePath(options.path, &path); !status.ok()) {
    return Status::InvalidArgument("path: " + status.message());
  }
  if (options.slots < kMinForecastSlots || options.slots > kMaxForecastSlots) {
    return Status::InvalidArgument("slots must be 2 to 1024");
  }
  if (options.period_s < options.slots || options.period_s > kMaxForecastPeriodS) {
    return Status::InvalidArgument(
        "the season must be at least one second a slot, and at most 31622400 s");
  }
  if (!(options.sigmas >= 1 && options.sigmas <= 100)) {
    return Status::InvalidArgument("sigmas must be 1 to 100");
  }
  if (!(options.least >= 0 && options.least <= kMaxForecastValue)) {
    return Status::InvalidArgument("the least deviation must be a number from 0");
  }
  if (options.record_class > kClasses) {
    return Status::InvalidArgument("forecast class must be 0 to " + std::to_string(kClasses));
  }
  if (options.max_series < 1 || options.max_series > kMaxForecastSeries) {
    return Status::InvalidArgument("series must be 1 to 1000000");
  }
  if (options.max_series * SeriesBytes(options.slots) > kMaxForecastBytes) {
    return Status::InvalidArgument("series and slots need more than 256 MiB");
  }
  return {};
}

}  // namespace seganet
