// What a forecast stage knows of one series: 64 bytes, and a float for each slot of the season.
#ifndef SEGANET_CORE_FORECAST_SERIES_STATE_H_
#define SEGANET_CORE_FORECAST_SERIES_STATE_H_

#include <cstddef>
#include <cstdint>

namespace seganet {

// Numbers beyond this, in either direction, are not learned and not scored, so that no square
// overflows.
inline constexpr double kMaxForecastValue = 1e30;

struct SeriesState {
  uint64_t key = 0;   // hash of device and topic
  double level = 0;   // before the first season is complete: the series' first value
  uint32_t slot = 0;  // current slot, since 1970
  float trend = 0;    // per slot
  float sigma = 0;    // standard deviation of the residuals of single values
  // Quantiles of these residuals, kLowShare and 1 - kLowShare. Before SeasonModel::HasStarted:
  // minus the largest root mean square of a slot of the group, and the root of the current slot's
  // sum of squares.
  float low = 0;
  float high = 0;
  float sum = 0;         // of the residuals in the current slot
  float alpha = 0;       // smoothing of the level
  float gamma = 0;       // smoothing of the season
  float last = 0;        // residual of the previous slot, in sigmas
  uint16_t points = 0;   // values in the current slot, at most 65,535
  uint16_t usual = 0;    // values in the previous slot that had some
  uint16_t age = 0;      // slots since the first value, a season of each pause, at most 65,535
  uint16_t learned = 0;  // slots whose residuals were learned, at most 65,535
  uint16_t place = 0;    // placement slot of the device
  uint8_t late = 0;      // values in a row that belong to an earlier slot
  // Low 4 bits: slots in a row that were far off in one direction. kUp: that direction. kAnchor:
  // the next complete slot sets the level.
  uint8_t run = 0;

  static constexpr uint8_t kUp = 16;
  static constexpr uint8_t kAnchor = 32;
  static constexpr uint8_t kRun = 15;
};
static_assert(sizeof(SeriesState) == 64);

// Memory of a series with its season and its share of the table's index.
inline constexpr size_t SeriesBytes(uint32_t slots) {
  return sizeof(SeriesState) + size_t{slots} * sizeof(float) + 11;
}

}  // namespace seganet

#endif  // SEGANET_CORE_FORECAST_SERIES_STATE_H_
