// The series of a forecast stage: which there are, where they are, and what is kept of them.
#include "core/forecast/forecasts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/placement/placement.h"
#include "test/support/support.h"

namespace seganet {
namespace {

ForecastOptions HourOf(uint32_t max_series = 100, bool restores = false) {
  ForecastOptions options;
  options.path = "t";
  options.slots = 4;
  options.period_s = 4;
  options.max_series = max_series;
  options.restores = restores;
  return options;
}

// Records of a stage.
class ScoredStage {
 public:
  explicit ScoredStage(const ForecastOptions& of, size_t workers = 2)
      : options(of), forecasts(of, workers) {}

  bool Put(std::string_view payload, int64_t slot = 0, std::string_view device = "d",
           size_t worker = 0) {
    Record record = test::MakeRecord(device, "topic", payload);
    record.ts_ms = slot * 1000;
    record.flags = flags;
    verdict = {};
    return forecasts.Score(worker, options, record, &verdict);
  }
  void Learn(int64_t slots, std::string_view device = "d", size_t worker = 0) {
    for (int64_t slot = 0; slot < slots; ++slot) {
      const int hundredths = static_cast<int>(slot % 4 * 100 + slot * 7 % 5);
      Put("{\"t\":" + std::to_string(hundredths) + "e-2}", slot, device, worker);
    }
  }
  std::string Save() {
    std::string content = forecasts.Header();
    ForecastCursor cursor;
    while (forecasts.SavePart(1'763'712'000'000, &cursor, &content)) {
    }
    return content;
  }
  ForecastRestore Restore(std::string_view content) {
    size_t at = 0;
    ForecastRestore result = ForecastRestore::kMore;
    while (result == ForecastRestore::kMore) result = forecasts.Restore(content, &at);
    EXPECT_EQ(forecasts.ready(), result == ForecastRestore::kDone);
    if (!forecasts.ready()) forecasts.Begin();
    return result;
  }

  const ForecastOptions options;
  Forecasts forecasts;
  ForecastVerdict verdict;
  uint8_t flags = 0;
};

TEST(ForecastsTest, ScoresTheNumberAtThePath) {
  ScoredStage stage(HourOf());
  EXPECT_TRUE(stage.Put(R"({"t":21.5})"));
  for (const char* payload : {R"({"t":"21.5"})", R"({"u":1})", "21.5", "", "{", R"({"t":null})",
                              R"({"t":1e999})", R"({"t":-1e31})"}) {
    EXPECT_FALSE(stage.Put(payload)) << payload;
  }
  stage.flags = kFlagEnvelope;
  EXPECT_FALSE(stage.Put(R"({"t":21.5})"));
  EXPECT_EQ(stage.forecasts.figures().points, 1u);
  EXPECT_EQ(stage.forecasts.figures().skipped, 9u);
  EXPECT_EQ(stage.forecasts.figures().series, 1);
}

TEST(ForecastsTest, KeepsTheSeriesOfEachDeviceAndCountsWhatTheyDo) {
  ScoredStage stage(HourOf());
  stage.Learn(40, "a");
  stage.Learn(8, "b");
  EXPECT_TRUE(stage.Put(R"({"t":500})", 40, "a"));
  EXPECT_TRUE(stage.verdict.anomaly);
  EXPECT_TRUE(stage.Put(R"({"t":500})", 8, "b"));
  EXPECT_FALSE(stage.verdict.trusted);
  EXPECT_TRUE(stage.Put(R"({"t":1})", 3, "a"));
  const ForecastFigures figures = stage.forecasts.figures();
  EXPECT_EQ(figures.series, 2);
  EXPECT_EQ(figures.points, 51u);
  EXPECT_EQ(figures.anomalies, 1u);
  EXPECT_EQ(figures.late, 1u);
  EXPECT_EQ(figures.untrusted, 4u + 24u + 9u + 1u);
}

TEST(ForecastsTest, RefusesSeriesAboveTheLimitAndForgetsSilentOnesForThem) {
  ScoredStage stage(HourOf(2));
  EXPECT_TRUE(stage.Put(R"({"t":1})", 0, "a"));
  EXPECT_TRUE(stage.Put(R"({"t":1})", 1, "b", 1));
  EXPECT_FALSE(stage.Put(R"({"t":1})", 2, "c"));
  EXPECT_TRUE(stage.Put(R"({"t":1})", 2, "a"));
  EXPECT_EQ(stage.forecasts.figures().refused, 1u);
  EXPECT_EQ(stage.forecasts.figures().series, 2);
  // More than eight seasons later, the new series takes the place of the silent one.
  EXPECT_FALSE(stage.Put(R"({"t":1})", 34, "c"));
  EXPECT_TRUE(stage.Put(R"({"t":1})", 35, "c"));
  EXPECT_EQ(stage.forecasts.figures().series, 2);
}

TEST(ForecastsTest, ALimitThatIsLoweredKeepsWhatThereIs) {
  ScoredStage stage(HourOf(3));
  for (const char* device : {"a", "b", "c"}) stage.Put(R"({"t":1})", 0, device);
  Record record = test::MakeRecord("d", "topic", R"({"t":1})");
  ForecastVerdict verdict;
  EXPECT_FALSE(stage.forecasts.Score(0, HourOf(1), record, &verdict));
  record.device = "a";
  EXPECT_TRUE(stage.forecasts.Score(0, HourOf(1), record, &verdict));
}

TEST(ForecastsTest, AnotherRunGoesOnWhereThisOneEnded) {
  ScoredStage first(HourOf());
  first.Learn(40, "a", 0);
  first.Learn(40, "b", 1);
  const std::string content = first.Save();
  ScoredStage second(HourOf(100, true), 3);
  EXPECT_FALSE(second.Put(R"({"t":500})", 40, "a"));  // before it is restored
  EXPECT_EQ(second.Restore(content), ForecastRestore::kDone);
  EXPECT_EQ(second.forecasts.figures().series, 2);
  // Whichever worker gets the device.
  EXPECT_TRUE(second.Put(R"({"t":500})", 40, "a", 2));
  EXPECT_TRUE(second.verdict.anomaly);
  first.Put(R"({"t":500})", 40, "a");
  EXPECT_EQ(second.verdict.expected, first.verdict.expected);
  EXPECT_EQ(second.verdict.low, first.verdict.low);
  // What has not sent yet is kept, too.
  ScoredStage third(HourOf(100, true));
  EXPECT_EQ(third.Restore(second.Save()), ForecastRestore::kDone);
  EXPECT_TRUE(third.Put(R"({"t":500})", 40, "b"));
  EXPECT_TRUE(third.verdict.anomaly);
}

TEST(ForecastsTest, SavesAndRestoresManySeriesInPortions) {
  ScoredStage first(HourOf(20'000));
  for (int i = 0; i < 10'000; ++i) first.Put(R"({"t":1})", 0, "device-" + std::to_string(i));
  const std::string content = first.Save();
  EXPECT_EQ(content.size(), first.forecasts.Header().size() + 10'000 * size_t{64 + 4 * 4});
  ScoredStage second(HourOf(20'000, true));
  size_t at = 0;
  int calls = 1;
  while (second.forecasts.Restore(content, &at) == ForecastRestore::kMore) ++calls;
  EXPECT_EQ(calls, 5);
  EXPECT_EQ(second.forecasts.figures().series, 10'000);
  // Memory of what waits goes when its workers have it.
  const size_t bytes = second.forecasts.bytes();
  for (int i = 0; i < 10'000; ++i) second.Put(R"({"t":1})", 1, "device-" + std::to_string(i), 1);
  EXPECT_LE(second.forecasts.bytes(), bytes + 100'000);
  EXPECT_EQ(second.forecasts.figures().series, 10'000);
}

TEST(ForecastsTest, LearnsNothingFromTheFileOfAnotherModel) {
  ScoredStage first(HourOf());
  first.Learn(40);
  ForecastOptions options = HourOf(100, true);
  options.path = "u";
  ScoredStage second(options);
  EXPECT_EQ(second.Restore(first.Save()), ForecastRestore::kOther);
  EXPECT_EQ(second.forecasts.figures().series, 0);
}

TEST(ForecastsTest, UsesWhatPrecedesDamage) {
  ScoredStage first(HourOf());
  first.Learn(40, "a");
  first.Learn(40, "b");
  const std::string content = first.Save();
  const size_t header = first.forecasts.Header().size();
  for (size_t length = 0; length < content.size(); ++length) {
    ScoredStage second(HourOf(100, true));
    const bool is_whole_row = length >= header && (length - header) % 80 == 0;
    EXPECT_EQ(second.Restore(content.substr(0, length)),
              is_whole_row ? ForecastRestore::kDone : ForecastRestore::kDamaged)
        << length;
    EXPECT_EQ(static_cast<size_t>(second.forecasts.figures().series),
              length < header ? 0 : (length - header) / 80);
  }
  // A number that no series has.
  std::string damaged = content;
  damaged.replace(header + 8, 8, std::string("\0\0\0\0\0\0\xf8\x7f", 8));
  ScoredStage second(HourOf(100, true));
  EXPECT_EQ(second.Restore(damaged), ForecastRestore::kDamaged);
  EXPECT_EQ(second.forecasts.figures().series, 0);
}

TEST(ForecastsTest, ForgetsWhatWaitsForADeviceThatIsGone) {
  ScoredStage first(HourOf());
  first.Learn(40, "gone");
  first.Learn(100, "here");
  ScoredStage second(HourOf(100, true));
  second.Restore(first.Save());
  EXPECT_EQ(second.forecasts.figures().series, 2);
  const std::string content = second.Save();
  EXPECT_EQ(second.forecasts.figures().series, 1);
  ScoredStage third(HourOf(100, true));
  third.Restore(content);
  EXPECT_TRUE(third.Put(R"({"t":1})", 100, "here"));
  EXPECT_TRUE(third.verdict.trusted);
}

TEST(ForecastsTest, ASeriesMovesWithItsDevice) {
  ScoredStage stage(HourOf());
  stage.Learn(40, "a", 0);
  stage.Learn(40, "b", 0);
  const uint32_t slot = Placement::SlotOf("a");
  ASSERT_NE(slot, Placement::SlotOf("b"));
  stage.forecasts.Leave(0, [slot](uint32_t place) { return place == slot; });
  EXPECT_TRUE(stage.Put(R"({"t":500})", 40, "a", 1));
  EXPECT_TRUE(stage.verdict.anomaly);
  EXPECT_TRUE(stage.Put(R"({"t":500})", 40, "b", 0));
  EXPECT_TRUE(stage.verdict.anomaly);
  EXPECT_EQ(stage.forecasts.figures().series, 2);
}

// Values of four slots a season, one a slot, from slot 0 on.
std::vector<double> History(size_t slots, std::vector<double>* times_ms) {
  std::vector<double> values;
  for (size_t slot = 0; slot < slots; ++slot) {
    times_ms->push_back(static_cast<double>(slot) * 1000);
    values.push_back(static_cast<double>(slot % 4) + static_cast<double>(slot * 7 % 5) / 100);
  }
  return values;
}

TEST(ForecastsTest, HistoryTeachesWhatTheValuesWouldHaveTaught) {
  ScoredStage live(HourOf());
  ScoredStage taught(HourOf(100, true));
  live.Learn(40);
  std::vector<double> times;
  const std::vector<double> values = History(40, &times);
  // In portions: the second one goes on within the series.
  for (const size_t from : {size_t{0}, size_t{15}, size_t{16}}) {
    const size_t count = from == 0 ? 15 : from == 15 ? 1 : 24;
    const auto until = static_cast<int64_t>(from + count) * 1000;
    EXPECT_EQ(taught.forecasts.Teach(taught.options, "d", "topic", &times[from], &values[from],
                                     count, until),
              ForecastTeach::kDone);
  }
  EXPECT_FALSE(taught.Put(R"({"t":500})", 40));  // not before it begins
  taught.forecasts.Begin();
  EXPECT_TRUE(live.Put(R"({"t":500})", 40));
  EXPECT_TRUE(taught.Put(R"({"t":500})", 40));
  EXPECT_TRUE(taught.verdict.trusted);
  EXPECT_TRUE(taught.verdict.anomaly);
  EXPECT_NEAR(taught.verdict.expected, live.verdict.expected, 1e-6);
  EXPECT_NEAR(taught.verdict.sigma, live.verdict.sigma, 1e-6);
  EXPECT_EQ(taught.forecasts.figures().series, 1);
}

TEST(ForecastsTest, ValuesOfTheHistoryAreNotLearnedAgain) {
  ScoredStage stage(HourOf(100, true));
  std::vector<double> times;
  const std::vector<double> values = History(40, &times);
  stage.forecasts.Teach(stage.options, "d", "topic", times.data(), values.data(), 40, 40'000);
  stage.forecasts.Begin();
  EXPECT_TRUE(stage.Put(R"({"t":3.2})", 39));
  EXPECT_TRUE(stage.verdict.late);
  EXPECT_TRUE(stage.Put(R"({"t":0})", 40));
  EXPECT_FALSE(stage.verdict.late);
  EXPECT_EQ(stage.forecasts.figures().late, 1u);
}

TEST(ForecastsTest, HistoryWithHolesOrNonsenseTeachesTheRest) {
  ScoredStage stage(HourOf(1, true));
  const double times[] = {NAN, -5, 1000, 2000, 3000, 1e300};
  const double values[] = {1, 2, NAN, INFINITY, -1e31, 3};
  EXPECT_EQ(stage.forecasts.Teach(stage.options, "d", "topic", times, values, 5, 4000),
            ForecastTeach::kDone);
  EXPECT_EQ(stage.forecasts.figures().series, 1);
  EXPECT_EQ(stage.forecasts.Teach(stage.options, "none", "topic", times, values, 1, 4000),
            ForecastTeach::kDone);
  EXPECT_EQ(stage.forecasts.figures().series, 1);
  // No room for another series, and room for more of the first.
  EXPECT_EQ(stage.forecasts.Teach(stage.options, "e", "topic", &times[1], &values[1], 1, 4000),
            ForecastTeach::kFull);
  EXPECT_EQ(stage.forecasts.Teach(stage.options, "d", "topic", &times[5], &values[5], 1, 4000),
            ForecastTeach::kDone);
  ForecastOptions other = stage.options;
  other.path = "u";
  EXPECT_EQ(stage.forecasts.Teach(other, "d", "topic", times, values, 1, 4000),
            ForecastTeach::kOther);
  stage.forecasts.Begin();
  EXPECT_EQ(stage.forecasts.Teach(stage.options, "d", "topic", times, values, 1, 4000),
            ForecastTeach::kBegun);
}

TEST(ForecastsTest, LookFindsASeriesWhereverItIs) {
  ScoredStage stage(HourOf());
  stage.Learn(40, "a", 0);
  stage.Put(R"({"t":500})", 40, "a", 0);
  const uint64_t key = stage.forecasts.KeyOf("a", "topic");
  const auto look = [&](uint64_t of) {
    ForecastView view;
    for (size_t part = 0; part <= 2; ++part) stage.forecasts.Look(part, of, &view);
    return view;
  };
  EXPECT_FALSE(look(stage.forecasts.KeyOf("b", "topic")).is_known);
  for (const bool has_moved : {false, true}) {
    if (has_moved) stage.forecasts.Leave(0, [](uint32_t) { return true; });
    const ForecastView view = look(key);
    ASSERT_TRUE(view.is_known);
    EXPECT_EQ(view.state.slot, 40u);
    ASSERT_EQ(view.season.size(), 4u);
    ASSERT_EQ(view.anomalies.size(), 1u);
    EXPECT_EQ(view.anomalies[0].ts_ms, 40'000);
    EXPECT_EQ(view.anomalies[0].value, 500);
  }
}

TEST(ForecastsTest, NotesTheLatestAnomaliesOnly) {
  ScoredStage stage(HourOf());
  stage.Learn(40);
  const size_t most = Forecasts::kNotedAnomalies;
  for (size_t i = 0; i < most + 10; ++i) {
    stage.Put("{\"t\":" + std::to_string(1000 + i) + "}", 40);
    EXPECT_TRUE(stage.verdict.anomaly);
    for (int usual = 0; usual < 9; ++usual) stage.Put(R"({"t":0.02})", 40);
  }
  ForecastView view;
  stage.forecasts.Look(0, stage.forecasts.KeyOf("d", "topic"), &view);
  ASSERT_EQ(view.anomalies.size(), most);
  EXPECT_EQ(view.anomalies.front().value, 1010);
  EXPECT_EQ(view.anomalies.back().value, 1009 + static_cast<double>(most));
}

TEST(ForecastsTest, WritesWhatAMessageGets) {
  std::string none, some;
  AppendVerdict({}, &none);
  EXPECT_EQ(none, R"({"forecast":{"expected":null,"low":null,"high":null,"sigma":null,)"
                  R"("trusted":false,"anomaly":false}})");
  ForecastVerdict verdict;
  verdict.has_forecast = verdict.trusted = verdict.anomaly = true;
  verdict.expected = 21.299999237060547;
  verdict.low = -1e300;
  verdict.high = 25;
  verdict.sigma = INFINITY;
  AppendVerdict(verdict, &some);
  EXPECT_EQ(some, R"({"forecast":{"expected":21.29999924,"low":-1e+300,"high":25,"sigma":null,)"
                  R"("trusted":true,"anomaly":true}})");
}

}  // namespace
}  // namespace seganet
