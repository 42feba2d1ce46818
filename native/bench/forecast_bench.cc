// Measures the forecast stage: time of a point, bytes of a series, and precision and recall of
// injected anomalies. Build with -O2.
//
//   forecast_bench                       prints the tables
//   forecast_bench --series SLOTS MODEL  reads a value a slot from the standard input and prints,
//   for
//                                        each: expected low high sigma trusted anomaly, of model
//                                        holtWinters or seasonalNaive (forecast/compare.py)
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "core/forecast/forecasts.h"

namespace {

using seganet::ForecastModel, seganet::ForecastOptions, seganet::Forecasts, seganet::SeasonModel,
    seganet::SeriesState, seganet::ForecastVerdict;

constexpr uint32_t kSlots = 24;
constexpr size_t kSeries = 100'000;
constexpr int kRounds = 15;

ForecastOptions Options(ForecastModel model, uint32_t slots = kSlots) {
  ForecastOptions options;
  options.model = model;
  options.slots = slots;
  options.period_s = slots;
  options.max_series = 1'000'000;
  return options;
}

int PrintSeries(uint32_t slots, ForecastModel model) {
  const SeasonModel season_model(Options(model, slots));
  SeriesState state;
  std::vector<float> season(slots);
  double value = 0;
  for (int64_t t = 0; std::scanf("%lf", &value) == 1; ++t) {
    ForecastVerdict verdict;
    if (t == 0) {
      season_model.Begin(value, 0, &state, season.data());
    } else {
      verdict = season_model.Observe(value, t * 1000, 4, 0, &state, season.data());
    }
    if (!verdict.has_forecast) verdict.expected = NAN;
    std::printf("%.10g %.10g %.10g %.10g %d %d\n", verdict.expected, verdict.low, verdict.high,
                verdict.sigma, verdict.trusted, verdict.anomaly);
  }
  return 0;
}

void PrintTime(const char* name, std::vector<double> rounds) {
  std::sort(rounds.begin(), rounds.end());
  std::printf("%-52s best %5.0f ns, median %5.0f ns a point\n", name, rounds.front(),
              rounds[rounds.size() / 2]);
}

// One series, so the memory is in the cache: the arithmetic alone.
void MeasureModel(ForecastModel model, const char* name) {
  constexpr int kPoints = 200'000;
  const SeasonModel season_model(Options(model));
  SeriesState state;
  std::vector<float> season(kSlots);
  season_model.Begin(20, 0, &state, season.data());
  std::vector<double> rounds;
  uint64_t anomalies = 0;
  int64_t t = 0;
  for (int round = 0; round < kRounds; ++round) {
    const double start = CpuNs();
    for (int i = 0; i < kPoints; ++i) {
      ++t;
      const double value = 20 + static_cast<double>(t % kSlots) + static_cast<double>(t % 7) * 0.1;
      anomalies += season_model.Observe(value, t * 1000, 4, 0, &state, season.data()).anomaly;
    }
    rounds.push_back((CpuNs() - start) / kPoints);
  }
  PrintTime(name, rounds);
  if (anomalies > 1'000'000'000) std::printf("%zu\n", static_cast<size_t>(anomalies));
}

// Records of many series, each in a slot of its own time, as a worker gets them.
void MeasureStage(size_t series, const char* name) {
  Forecasts forecasts(Options(ForecastModel::kHoltWinters), 1);
  std::vector<std::string> devices;
  for (size_t i = 0; i < series; ++i) devices.push_back("device-" + std::to_string(i));
  const ForecastOptions options = Options(ForecastModel::kHoltWinters);
  std::vector<double> rounds;
  const int turns = static_cast<int>(std::max<size_t>(1, kSeries / series));
  int64_t t = 0;
  for (int round = 0; round < kRounds + 4; ++round) {
    const double start = CpuNs();
    for (int turn = 0; turn < turns; ++turn, ++t) {
      const std::string payload = std::to_string(20 + t % kSlots) + ".5";
      for (const std::string& device : devices) {
        seganet::Record record;
        record.device = device;
        record.topic = "plant/values";
        record.payload = payload;
        record.ts_ms = t * 1000;
        ForecastVerdict verdict;
        forecasts.Score(0, options, record, &verdict);
      }
    }
    const double ns = (CpuNs() - start) / (turns * static_cast<double>(series));
    if (round >= 4) rounds.push_back(ns);  // the first rounds make the series
  }
  PrintTime(name, rounds);
  if (series < kSeries) return;
  std::printf("%zu series of %u slots: %.1f MB, %.0f bytes a series\n", series, kSlots,
              static_cast<double>(forecasts.bytes()) / 1e6,
              static_cast<double>(forecasts.bytes()) / static_cast<double>(series));
}

enum class Shape { kDaily, kTrendAndHarmonics, kRandomWalk };

std::vector<double> Make(Shape shape, size_t count, std::mt19937_64* random) {
  std::normal_distribution<double> normal;
  std::vector<double> values;
  double walk = 0;
  for (size_t i = 0; i < count; ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / kSlots;
    double value = 0;
    switch (shape) {
      case Shape::kDaily:
        value = 20 + 5 * std::sin(angle) + 0.5 * normal(*random);
        break;
      case Shape::kTrendAndHarmonics:
        value = 100 + 0.01 * static_cast<double>(i) + 30 * std::sin(angle) +
                12 * std::cos(2 * angle) + 3 * normal(*random);
        break;
      case Shape::kRandomWalk:
        walk += 0.2 * normal(*random);
        value = walk + 10 * std::sin(angle) + 0.3 * normal(*random);
        break;
    }
    values.push_back(value);
  }
  return values;
}

// Injects eight anomalies into each of 50 series of 40 seasons, behind the sixth.
void MeasureAnomalies(Shape shape, double noise, const char* name) {
  const SeasonModel season_model(Options(ForecastModel::kHoltWinters));
  for (const double size : {5.0, 6.0, 8.0, 12.0}) {
    std::mt19937_64 random(1);
    uint64_t found = 0, missed = 0, wrong = 0, normal = 0;
    for (int repeat = 0; repeat < 50; ++repeat) {
      std::vector<double> values = Make(shape, size_t{40} * kSlots, &random);
      std::vector<bool> injected(values.size());
      for (int i = 0; i < 8; ++i) {
        const size_t at = 6 * kSlots + random() % (values.size() - 6 * kSlots);
        if (injected[at]) continue;
        injected[at] = true;
        values[at] += (random() % 2 == 0 ? size : -size) * noise;
      }
      SeriesState state;
      std::vector<float> season(kSlots);
      season_model.Begin(values[0], 0, &state, season.data());
      for (size_t i = 1; i < values.size(); ++i) {
        const bool anomaly =
            season_model
                .Observe(values[i], static_cast<int64_t>(i) * 1000, 4, 0, &state, season.data())
                .anomaly;
        if (injected[i]) {
          ++(anomaly ? found : missed);
        } else {
          wrong += anomaly;
          ++normal;
        }
      }
    }
    std::printf(
        "| %-28s | %4.0f sigma | %.3f | %.3f | %.2f |\n", name, size,
        static_cast<double>(found) / static_cast<double>(std::max<uint64_t>(1, found + wrong)),
        static_cast<double>(found) / static_cast<double>(found + missed),
        1000 * static_cast<double>(wrong) / static_cast<double>(normal));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--series") == 0) {
    const bool is_naive = std::strcmp(argv[3], "seasonalNaive") == 0;
    return PrintSeries(static_cast<uint32_t>(std::atoi(argv[2])),
                       is_naive ? ForecastModel::kSeasonalNaive : ForecastModel::kHoltWinters);
  }
  std::printf("CPU time; %d rounds, one thread, one value a slot\n\n", kRounds);
  MeasureModel(ForecastModel::kHoltWinters, "the model alone, Holt-Winters");
  MeasureModel(ForecastModel::kSeasonalNaive, "the model alone, seasonal naive");
  MeasureStage(100, "a record, with its JSON and its key, 100 series");
  MeasureStage(kSeries, "a record, with its JSON and its key, 100,000 series");
  std::printf(
      "\n| shape                        |    anomaly | precision | recall | false per 1,000 |\n"
      "| ---------------------------- | ---------- | --------- | ------ | --------------- |\n");
  MeasureAnomalies(Shape::kDaily, 0.5, "daily sine, white noise");
  MeasureAnomalies(Shape::kTrendAndHarmonics, 3, "trend, two harmonics, noise");
  MeasureAnomalies(Shape::kRandomWalk, 0.5, "random walk, season, noise");
  return 0;
}
