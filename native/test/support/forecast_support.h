// A series that learns, and values for it.
#ifndef SEGANET_TEST_SUPPORT_FORECAST_SUPPORT_H_
#define SEGANET_TEST_SUPPORT_FORECAST_SUPPORT_H_

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>
#include <random>
#include <vector>

#include "core/forecast/season_model.h"

namespace seganet {

inline constexpr uint32_t kDaySlots = 24;  // slots

inline ForecastOptions SeasonOf(uint32_t slots, ForecastModel model = ForecastModel::kHoltWinters) {
  ForecastOptions options;
  options.model = model;
  options.slots = slots;
  options.period_s = slots;
  return options;
}

// A series whose slots are one second long.
class Learner {
 public:
  explicit Learner(const ForecastOptions& options) : model_(options), season_(options.slots) {}

  // A value at a time; returns its verdict.
  ForecastVerdict At(double value, int64_t ts_ms) {
    ForecastVerdict verdict;
    if (is_new_) {
      model_.Begin(value, ts_ms, &state_, season_.data());
    } else {
      verdict = model_.Observe(value, ts_ms, sigmas, least, &state_, season_.data());
    }
    is_new_ = false;
    ts_ms_ = ts_ms;
    EXPECT_TRUE(model_.IsValid(state_, season_.data())) << value << " at " << ts_ms;
    return verdict;
  }
  // A value in the next slot.
  ForecastVerdict Next(double value) { return At(value, ts_ms_ + 1000); }
  // Learns `count` values of a function of the slot.
  void Learn(size_t count, const std::function<double(size_t)>& value) {
    for (size_t i = 0; i < count; ++i) Next(value(slot_++));
  }
  // Goes to the slot of a time without a value.
  void GoTo(int64_t ts_ms) {
    model_.GoTo(ts_ms, &state_, season_.data());
    ts_ms_ = ts_ms;
  }
  ForecastBand Band(int64_t from_ms, int64_t to_ms) const {
    return model_.BandOver(from_ms, to_ms, state_, season_.data());
  }
  ForecastDoubt Doubt() const { return model_.DoubtOf(state_, season_.data()); }
  size_t slot() const { return slot_; }
  int64_t ts_ms() const { return ts_ms_; }
  const SeriesState& state() const { return state_; }

  double sigmas = 4;
  double least = 0;

 private:
  const SeasonModel model_;
  std::vector<float> season_;
  SeriesState state_;
  bool is_new_ = true;
  int64_t ts_ms_ = 0;
  size_t slot_ = 0;
};

inline double Daily(size_t slot) {
  return 20 + 5 * std::sin(2 * std::numbers::pi * static_cast<double>(slot) / kDaySlots);
}

// A daily course with noise of a known deviation.
class NoisyDay {
 public:
  explicit NoisyDay(double deviation = 0.5, uint64_t seed = 1)
      : deviation_(deviation), random_(seed) {}
  double operator()(size_t slot) { return Daily(slot) + deviation_ * normal_(random_); }

 private:
  const double deviation_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
};

}  // namespace seganet

#endif  // SEGANET_TEST_SUPPORT_FORECAST_SUPPORT_H_
