// The model of a series: how good its forecasts are, what it makes of anomalies, and that nothing
// in a series ruins it.
#include "core/forecast/season_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <numbers>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "test/support/forecast_support.h"

namespace seganet {
namespace {

double SymmetricError(const std::vector<double>& values, const std::vector<double>& forecasts,
                      size_t split) {
  double sum = 0;
  for (size_t i = split; i < values.size(); ++i) {
    sum += 2 * std::abs(values[i] - forecasts[i]) / (std::abs(values[i]) + std::abs(forecasts[i]));
  }
  return 100 * sum / static_cast<double>(values.size() - split);
}

TEST(SeasonModelTest, ForecastsAsWellAsStatsforecast) {
  std::ifstream file(std::filesystem::path(__FILE__).parent_path().parent_path() /
                     "golden/forecast-series.txt");
  int series = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    ++series;
    std::istringstream row(line);
    std::string name;
    uint32_t slots = 0;
    size_t split = 0;
    double holt_winters = 0, naive = 0;
    row >> name >> slots >> split >> holt_winters >> naive;
    std::vector<double> values;
    for (double value = 0; row >> value;) values.push_back(value);
    ASSERT_GT(values.size(), split) << name;
    for (const auto& [model, theirs] : {std::pair(ForecastModel::kHoltWinters, holt_winters),
                                        std::pair(ForecastModel::kSeasonalNaive, naive)}) {
      Learner learner(SeasonOf(slots, model));
      std::vector<double> forecasts;
      for (const double value : values) forecasts.push_back(learner.Next(value).expected);
      EXPECT_LE(SymmetricError(values, forecasts, split), 1.05 * theirs) << name;
    }
  }
  EXPECT_EQ(series, 4);
}

TEST(SeasonModelTest, HasNoForecastInTheFirstSeasonAndTrustsNoneBeforeTheFourth) {
  Learner learner(SeasonOf(kDaySlots));
  NoisyDay day;
  for (size_t slot = 0; slot < 4 * kDaySlots; ++slot) {
    const ForecastVerdict verdict = learner.Next(day(slot));
    EXPECT_EQ(verdict.has_forecast, slot >= kDaySlots) << slot;
    EXPECT_EQ(verdict.trusted, slot >= 3 * kDaySlots) << slot;
  }
}

TEST(SeasonModelTest, MarksNothingBeforeItsForecastIsTrusted) {
  Learner learner(SeasonOf(kDaySlots));
  learner.Learn(2 * kDaySlots, NoisyDay());
  EXPECT_FALSE(learner.Next(1000).anomaly);
}

TEST(SeasonModelTest, HoldsNineOfTenValuesInTheBand) {
  Learner learner(SeasonOf(kDaySlots));
  NoisyDay day;
  learner.Learn(6 * kDaySlots, std::ref(day));
  int below = 0, above = 0;
  constexpr int kValues = 10'000;
  for (size_t slot = learner.slot(); slot < 6 * kDaySlots + kValues; ++slot) {
    const double value = day(slot);
    const ForecastVerdict verdict = learner.Next(value);
    below += value < verdict.low;
    above += value > verdict.high;
    EXPECT_LE(verdict.low, verdict.high);
  }
  EXPECT_NEAR(below, kValues / 20, kValues / 100);
  EXPECT_NEAR(above, kValues / 20, kValues / 100);
}

TEST(SeasonModelTest, FindsAnomaliesOfEightSigmasAndFewOthers) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    Learner learner(SeasonOf(kDaySlots));
    NoisyDay day(0.5, seed);
    learner.Learn(6 * kDaySlots, std::ref(day));
    int wrong = 0;
    for (size_t slot = 6 * kDaySlots; slot < 40 * kDaySlots; ++slot) {
      const bool is_odd = slot % 101 == 0;
      const double value = day(slot) + (is_odd ? (slot % 2 == 0 ? 4.5 : -4.5) : 0);
      const bool anomaly = learner.Next(value).anomaly;
      if (is_odd) {
        EXPECT_TRUE(anomaly) << slot;
      } else {
        wrong += anomaly;
      }
    }
    EXPECT_LE(wrong, 1);
  }
}

TEST(SeasonModelTest, AnOutlierChangesLaterForecastsLittle) {
  for (const ForecastModel model : {ForecastModel::kHoltWinters, ForecastModel::kSeasonalNaive}) {
    Learner learner(SeasonOf(kDaySlots, model));
    Learner spared(SeasonOf(kDaySlots, model));
    NoisyDay day, same;
    learner.Learn(10 * kDaySlots, std::ref(day));
    spared.Learn(10 * kDaySlots, std::ref(same));
    const float sigma = learner.state().sigma;
    EXPECT_TRUE(learner.Next(1e9).anomaly);
    spared.Next(same(10 * kDaySlots));
    day(10 * kDaySlots);
    for (size_t slot = 10 * kDaySlots + 1; slot < 13 * kDaySlots; ++slot) {
      const double value = day(slot);
      const double difference = learner.Next(value).expected - spared.Next(value).expected;
      EXPECT_LT(std::abs(difference), 3.5 * sigma) << slot;
      EXPECT_LT(learner.state().sigma, 1.2 * sigma);
    }
  }
}

TEST(SeasonModelTest, FollowsAShiftOfTheLevelAfterEightSlots) {
  Learner learner(SeasonOf(kDaySlots));
  NoisyDay day;
  learner.Learn(10 * kDaySlots, std::ref(day));
  size_t slot = 10 * kDaySlots;
  for (; slot < 10 * kDaySlots + 7; ++slot)
    EXPECT_TRUE(learner.Next(day(slot) + 1e6).anomaly) << slot;
  for (; slot < 10 * kDaySlots + 12; ++slot) learner.Next(day(slot) + 1e6);
  for (; slot < 12 * kDaySlots; ++slot) {
    const ForecastVerdict verdict = learner.Next(day(slot) + 1e6);
    EXPECT_TRUE(verdict.trusted);
    EXPECT_FALSE(verdict.anomaly) << slot;
    EXPECT_NEAR(verdict.expected, Daily(slot) + 1e6, 3) << slot;
  }
}

TEST(SeasonModelTest, FollowsAMeterThatBeginsAgain) {
  Learner learner(SeasonOf(kDaySlots));
  double meter = 1e6;
  for (size_t slot = 0; slot < 10 * kDaySlots; ++slot) learner.Next(meter += 5 + Daily(slot) / 10);
  meter = 0;
  for (size_t slot = 10 * kDaySlots; slot < 20 * kDaySlots; ++slot)
    learner.Next(meter += 5 + Daily(slot) / 10);
  const ForecastVerdict verdict = learner.Next(meter + 7);
  EXPECT_TRUE(verdict.trusted);
  EXPECT_FALSE(verdict.anomaly);
  // The trend is damped, so a forecast of what grows lags by less than a slot.
  EXPECT_NEAR(verdict.expected, meter + 7, 7);
}

TEST(SeasonModelTest, AConstantSeriesHasABandOfNoWidth) {
  for (const double constant : {0.0, 42.1, -1e12}) {
    Learner learner(SeasonOf(kDaySlots));
    learner.Learn(5 * kDaySlots, [constant](size_t) { return constant; });
    ForecastVerdict verdict = learner.Next(constant);
    EXPECT_TRUE(verdict.trusted);
    EXPECT_FALSE(verdict.anomaly);
    EXPECT_DOUBLE_EQ(verdict.expected, constant);
    EXPECT_NEAR(verdict.high, verdict.low, std::abs(constant) * 1e-5);
    verdict = learner.Next(constant + 1 + std::abs(constant) / 100);
    EXPECT_TRUE(verdict.anomaly);
    // It stays there, and is the new constant.
    for (int i = 0; i < 12; ++i) verdict = learner.Next(constant + 1 + std::abs(constant) / 100);
    EXPECT_FALSE(verdict.anomaly);
  }
}

TEST(SeasonModelTest, ADeviationUpToTheLeastIsNoAnomaly) {
  for (const double deviation : {0.5, 0.51, -0.5, -0.51}) {
    Learner learner(SeasonOf(kDaySlots));
    learner.least = 0.5;
    learner.Learn(5 * kDaySlots, [](size_t) { return 20.0; });
    EXPECT_EQ(learner.Next(20 + deviation).anomaly, std::abs(deviation) > 0.5) << deviation;
  }
}

TEST(SeasonModelTest, ComparesEachValueOfASlotWithTheSameForecast) {
  Learner learner(SeasonOf(kDaySlots));
  for (size_t slot = 0; slot < 8 * kDaySlots; ++slot) {
    for (int i = 0; i < 10; ++i) {
      const auto ts_ms = static_cast<int64_t>(slot) * 1000 + i * 100;
      const ForecastVerdict verdict = learner.At(Daily(slot) + (i % 2 == 0 ? 0.1 : -0.1), ts_ms);
      if (slot < 6 * kDaySlots) continue;
      EXPECT_NEAR(verdict.expected, Daily(slot), 0.05) << slot;
      EXPECT_NEAR(verdict.sigma, 0.1, 0.05);
      EXPECT_FALSE(verdict.anomaly);
    }
  }
}

TEST(SeasonModelTest, MissingSlotsAndSeasonsCostNoTrustForLong) {
  Learner learner(SeasonOf(kDaySlots));
  NoisyDay day;
  learner.Learn(6 * kDaySlots, std::ref(day));
  // Half a season is missing: the next value is compared.
  const int64_t begin_ms = learner.ts_ms() - (6 * kDaySlots - 1) * int64_t{1000};
  const auto at = [&](size_t slot, double more = 0) {
    return learner.At(day(slot) + more, begin_ms + static_cast<int64_t>(slot) * 1000);
  };
  ForecastVerdict verdict = at(6 * kDaySlots + 12);
  EXPECT_TRUE(verdict.trusted);
  EXPECT_NEAR(verdict.expected, Daily(6 * kDaySlots + 12), 2);
  EXPECT_TRUE(at(6 * kDaySlots + 13, 10).anomaly);
  // Ten seasons are missing: the level may be another one, so the next value only sets it.
  verdict = at(17 * kDaySlots, 100);
  EXPECT_FALSE(verdict.trusted);
  verdict = at(17 * kDaySlots + 1, 100);
  EXPECT_TRUE(verdict.trusted);
  EXPECT_NEAR(verdict.expected, Daily(17 * kDaySlots + 1) + 100, 3);
}

TEST(SeasonModelTest, AValueEveryThirdSlotIsEnough) {
  Learner learner(SeasonOf(kDaySlots));
  NoisyDay day;
  ForecastVerdict verdict;
  for (size_t slot = 0; slot < 12 * kDaySlots; slot += 3) {
    verdict = learner.At(day(slot), static_cast<int64_t>(slot) * 1000);
  }
  EXPECT_TRUE(verdict.trusted);
  EXPECT_FALSE(verdict.anomaly);
  // A slot that never had a value has no forecast to trust.
  EXPECT_FALSE(learner.At(20, (12 * kDaySlots + 1) * int64_t{1000}).trusted);
}

TEST(SeasonModelTest, LateValuesAreComparedAndNotLearned) {
  Learner learner(SeasonOf(kDaySlots));
  learner.Learn(6 * kDaySlots, NoisyDay());
  const SeriesState before = learner.state();
  const ForecastVerdict verdict = learner.At(1000, learner.ts_ms() - 2000);
  EXPECT_TRUE(verdict.late);
  EXPECT_FALSE(verdict.anomaly);
  EXPECT_EQ(learner.state().sum, before.sum);
  EXPECT_EQ(learner.state().level, before.level);
}

TEST(SeasonModelTest, FollowsAClockThatIsSetBackAndOneThatRanAhead) {
  Learner learner(SeasonOf(kDaySlots));
  NoisyDay day;
  learner.Learn(6 * kDaySlots, std::ref(day));
  const int64_t now_ms = learner.ts_ms();
  // Ten years back: after eight values, learning goes on.
  int64_t ts_ms = now_ms - 3650 * int64_t{86'400'000} / 24 * 24;
  int late = 0;
  for (int i = 0; i < 3 * static_cast<int>(kDaySlots); ++i)
    late += learner.At(20, ts_ms += 1000).late;
  EXPECT_EQ(late, SeasonModel::kLateValues - 1);
  // One value of the year 5000 leaves the series in the future, for eight values.
  learner.At(20, 95'000'000'000'000);
  late = 0;
  ForecastVerdict verdict;
  for (int i = 0; i < static_cast<int>(kDaySlots); ++i) {
    verdict = learner.At(20, ts_ms += 1000);
    late += verdict.late;
  }
  EXPECT_EQ(late, SeasonModel::kLateValues - 1);
  EXPECT_TRUE(verdict.has_forecast);
}

TEST(SeasonModelTest, AnyValuesAndTimesKeepTheStateValid) {
  std::mt19937_64 random(7);
  constexpr double kValues[] = {0, -0.0, 1e30, -1e30, 1e-300, 4.9e-324, 1, -1, 1e15, 21.5};
  constexpr int64_t kTimes[] = {std::numeric_limits<int64_t>::min(), -1, 0, 1, 1'763'712'000'000,
                                std::numeric_limits<int64_t>::max()};
  for (const ForecastModel model : {ForecastModel::kHoltWinters, ForecastModel::kSeasonalNaive}) {
    for (const uint32_t slots : {2u, 24u, 1024u}) {
      Learner learner(SeasonOf(slots, model));
      int64_t ts_ms = 0;
      for (int i = 0; i < 20'000; ++i) {
        const uint64_t draw = random();
        if (draw % 50 == 0) ts_ms = kTimes[draw / 50 % std::size(kTimes)];
        if (ts_ms < std::numeric_limits<int64_t>::max() - 10'000) {
          ts_ms += static_cast<int64_t>(draw / 7 % 3000);
        }
        const double value = draw % 4 == 0 ? kValues[draw / 4 % std::size(kValues)] : 20.0;
        const ForecastVerdict verdict = learner.At(value, ts_ms);
        EXPECT_TRUE(std::isfinite(verdict.expected) && verdict.low <= verdict.high);
      }
    }
  }
}

TEST(SeasonModelTest, TheBandOfASlotIsWhatItsValueIsComparedWith) {
  for (const ForecastModel model : {ForecastModel::kHoltWinters, ForecastModel::kSeasonalNaive}) {
    Learner learner(SeasonOf(kDaySlots, model));
    NoisyDay day;
    learner.Learn(10 * kDaySlots,
                  [&](size_t slot) { return day(slot) + 0.05 * static_cast<double>(slot); });
    learner.GoTo(learner.ts_ms() + 1000);
    for (const int64_t ahead : {0, 1, 2, 5, 23}) {
      const int64_t ts_ms = learner.ts_ms() + ahead * 1000;
      const ForecastBand band = learner.Band(ts_ms, ts_ms + 1000);
      Learner later(learner);
      const ForecastVerdict verdict = later.At(20, ts_ms);
      EXPECT_NEAR(band.expected, verdict.expected, 1e-5) << ahead;
      EXPECT_NEAR(band.low, verdict.low, 1e-5) << ahead;
      EXPECT_NEAR(band.high, verdict.high, 1e-5) << ahead;
    }
  }
}

TEST(SeasonModelTest, TheBandOfSlotsThatAreOverFollowsTheirValues) {
  for (const ForecastModel model : {ForecastModel::kHoltWinters, ForecastModel::kSeasonalNaive}) {
    Learner learner(SeasonOf(kDaySlots, model));
    NoisyDay day(0.05);
    std::vector<double> values;
    learner.Learn(10 * kDaySlots, [&](size_t slot) {
      return values.emplace_back(day(slot) + 0.02 * static_cast<double>(slot));
    });
    for (int64_t ago = 1; ago < 20; ++ago) {
      const int64_t ts_ms = learner.ts_ms() - ago * 1000;
      EXPECT_NEAR(learner.Band(ts_ms, ts_ms + 1000).expected,
                  values[values.size() - 1 - static_cast<size_t>(ago)], 0.5)
          << ago;
    }
  }
}

TEST(SeasonModelTest, TheBandOfSeveralSlotsHasTheirWidestLimits) {
  Learner learner(SeasonOf(kDaySlots));
  learner.Learn(5 * kDaySlots, NoisyDay());
  const int64_t from_ms = learner.ts_ms() + 500;
  double sum = 0, low = 1e9, high = -1e9;
  for (int64_t i = 0; i < kDaySlots; ++i) {
    const ForecastBand one = learner.Band(from_ms + i * 1000, from_ms + i * 1000 + 1);
    sum += one.expected;
    low = std::min(low, one.low);
    high = std::max(high, one.high);
  }
  const ForecastBand all = learner.Band(from_ms, from_ms + kDaySlots * 1000 - 500);
  EXPECT_NEAR(all.expected, sum / kDaySlots, 1e-9);
  EXPECT_NEAR(all.low, low, 1e-9);
  EXPECT_NEAR(all.high, high, 1e-9);
  // A season is all that there is to know.
  EXPECT_NEAR(learner.Band(from_ms, from_ms + 1'000'000'000).expected, all.expected, 1e-9);
}

TEST(SeasonModelTest, TellsWhyAForecastIsNotTrusted) {
  Learner learner(SeasonOf(4));
  EXPECT_EQ(learner.Doubt(), ForecastDoubt::kSeasons);
  learner.Learn(12, Daily);
  EXPECT_EQ(learner.Doubt(), ForecastDoubt::kSeasons);
  learner.Learn(1, Daily);
  EXPECT_EQ(learner.Doubt(), ForecastDoubt::kSlots);
  learner.Learn(20, Daily);
  EXPECT_EQ(learner.Doubt(), ForecastDoubt::kNone);
  learner.GoTo(learner.ts_ms() + 8000);
  EXPECT_EQ(learner.Doubt(), ForecastDoubt::kShift);
  Learner gaps(SeasonOf(2));
  for (int64_t season = 0; season < 30; ++season) gaps.At(1, 1000 + season * 2000);
  EXPECT_EQ(gaps.Doubt(), ForecastDoubt::kNone);
  gaps.GoTo(gaps.ts_ms() + 1000);
  EXPECT_EQ(gaps.Doubt(), ForecastDoubt::kSlot);
}

TEST(SeasonModelTest, CountsSlotsOfAPeriodThatIsNoMultipleOfThem) {
  ForecastOptions options = SeasonOf(7);
  options.period_s = 10;
  const SeasonModel model(options);
  EXPECT_EQ(model.SlotOf(0), 0u);
  EXPECT_EQ(model.SlotOf(1428), 0u);
  EXPECT_EQ(model.SlotOf(1429), 1u);
  EXPECT_EQ(model.SlotOf(10'000), 7u);
  EXPECT_EQ(model.SlotOf(70'000), 49u);
}

TEST(ForecastOptionsTest, NamesWhatIsWrong) {
  const auto problem = [](const std::function<void(ForecastOptions*)>& change) {
    ForecastOptions options;
    change(&options);
    return Validate(options).message();
  };
  EXPECT_EQ(problem([](ForecastOptions*) {}), "");
  EXPECT_NE(problem([](auto* o) { o->path = "a..b"; }), "");
  EXPECT_EQ(problem([](auto* o) { o->slots = 1; }), "slots must be 2 to 1024");
  EXPECT_EQ(problem([](auto* o) { o->slots = 1025; }), "slots must be 2 to 1024");
  EXPECT_NE(problem([](auto* o) { o->period_s = 23; }), "");
  EXPECT_NE(problem([](auto* o) { o->period_s = kMaxForecastPeriodS + 1; }), "");
  EXPECT_NE(problem([](auto* o) { o->sigmas = 0.9; }), "");
  EXPECT_NE(problem([](auto* o) { o->sigmas = std::numeric_limits<double>::quiet_NaN(); }), "");
  EXPECT_NE(problem([](auto* o) { o->least = -1; }), "");
  EXPECT_EQ(problem([](auto* o) { o->record_class = 9; }), "forecast class must be 0 to 8");
  EXPECT_EQ(problem([](auto* o) { o->max_series = 0; }), "series must be 1 to 1000000");
  EXPECT_EQ(problem([](auto* o) {
              o->max_series = kMaxForecastSeries;
              o->slots = 1024;
              o->period_s = 86'400;
            }),
            "series and slots need more than 256 MiB");
}

}  // namespace
}  // namespace seganet
