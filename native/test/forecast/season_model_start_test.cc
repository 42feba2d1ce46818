// The model of a series before its forecasts are trusted, when no sigma tells outliers from noise.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

#include "core/forecast/season_model.h"
#include "test/support/forecast_support.h"

namespace seganet {
namespace {

TEST(SeasonModelStartTest, OutliersBeforeItIsTrustedLeaveSigmaAndForecastsAsTheyWere) {
  const std::vector<std::vector<size_t>> all = {{0},  {1},  {5},  {23},    {24},     {25},
                                                {47}, {48}, {71}, {3, 58}, {24, 45}, {26, 70}};
  for (const ForecastModel model : {ForecastModel::kHoltWinters, ForecastModel::kSeasonalNaive}) {
    for (const int per_slot : {1, 10}) {
      for (size_t i = 0; i < all.size(); ++i) {
        SCOPED_TRACE(testing::Message()
                     << static_cast<int>(model) << ", " << per_slot << ", " << i);
        Learner learner(SeasonOf(kDaySlots, model));
        Learner spared(SeasonOf(kDaySlots, model));
        NoisyDay day;
        int wrong = 0;
        for (size_t slot = 0; slot < 6 * kDaySlots; ++slot) {
          const bool is_odd = std::find(all[i].begin(), all[i].end(), slot) != all[i].end();
          for (int k = 0; k < per_slot; ++k) {
            const auto ts_ms = static_cast<int64_t>(slot) * 1000 + k * 1000 / per_slot;
            const double value = day(slot);
            wrong += learner.At(is_odd && k == 0 ? -1e4 : value, ts_ms).anomaly;
            wrong -= spared.At(value, ts_ms).anomaly;
          }
          if (slot < 3 * kDaySlots) continue;
          EXPECT_LT(learner.state().sigma, 1.5F * spared.state().sigma) << slot;
          EXPECT_GT(learner.state().sigma, 0.7F * spared.state().sigma) << slot;
        }
        EXPECT_LE(wrong, 1);
      }
    }
  }
}

TEST(SeasonModelStartTest, KnowsSigmaWhenItIsTrusted) {
  double sum = 0;
  constexpr int kSeeds = 200;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Learner learner(SeasonOf(kDaySlots));
    learner.Learn(3 * kDaySlots + 1, NoisyDay(0.5, seed));
    sum += learner.state().sigma / kSeeds;
  }
  // Forecasts of two seasons are uncertain themselves.
  EXPECT_NEAR(sum, 0.65, 0.1);
}

TEST(SeasonModelStartTest, ValuesThatAreSeldomButUsualAreNoAnomalies) {
  // A value with one decimal, which is mostly the same.
  Learner learner(SeasonOf(kDaySlots));
  std::mt19937_64 random(3);
  int wrong = 0;
  for (size_t slot = 0; slot < 10 * kDaySlots; ++slot)
    wrong += learner.Next(random() % 7 == 0 ? 21.4 : 21.3).anomaly;
  EXPECT_EQ(wrong, 0);
}

TEST(SeasonModelStartTest, ASeasonAndAPauseAreNotEnoughToTrustAForecast) {
  for (const ForecastModel model : {ForecastModel::kHoltWinters, ForecastModel::kSeasonalNaive}) {
    Learner learner(SeasonOf(kDaySlots, model));
    NoisyDay day;
    learner.Learn(kDaySlots, std::ref(day));
    for (size_t slot = 5 * kDaySlots; slot < 5 * kDaySlots + 23; ++slot) {
      const ForecastVerdict verdict = learner.At(day(slot), static_cast<int64_t>(slot) * 1000);
      EXPECT_FALSE(verdict.trusted || verdict.anomaly) << slot;
    }
    for (size_t slot = 9 * kDaySlots; slot < 12 * kDaySlots; ++slot) {
      EXPECT_FALSE(learner.At(day(slot), static_cast<int64_t>(slot) * 1000).anomaly) << slot;
    }
  }
}

}  // namespace
}  // namespace seganet
