#include "core/plan/filter.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "test/support/support.h"

namespace seganet {
namespace {

using test::kSecond;

Record Made(std::string_view device, std::string_view topic, std::string_view payload,
            int64_t now_us = 0) {
  Record record;
  record.device = device;
  record.topic = topic;
  record.payload = payload;
  record.arrived_us = now_us;
  return record;
}

// The payloads of one device and topic that pass, one a second.
std::vector<std::string> Passing(const FilterOptions& options,
                                 const std::vector<std::string>& payloads) {
  const Status status = Validate(options);
  EXPECT_TRUE(status.ok()) << status.message();
  Filter filter(options);
  std::vector<std::string> passing;
  int64_t now = 0;
  for (const std::string& payload : payloads) {
    if (filter.Passes(Made("d", "t", payload, now))) passing.push_back(payload);
    now += kSecond;
  }
  return passing;
}

using List = std::vector<std::string>;

TEST(Filter, PassesOrBlocksByACondition) {
  const List payloads = {"79", "80", "81", "x", "{\"a\":81}"};
  EXPECT_EQ(Passing({.mode = FilterMode::kPass, .when = "$ > 79"}, payloads), (List{"80", "81"}));
  EXPECT_EQ(Passing({.mode = FilterMode::kBlock, .when = "$ > 79"}, payloads),
            (List{"79", "x", "{\"a\":81}"}));
}

TEST(Filter, PassesValuesInARange) {
  const List payloads = {"{\"t\":-1}",   "{\"t\":0}",     "{\"t\":5.5}", "{\"t\":10}",
                         "{\"t\":10.1}", "{\"t\":\"5\"}", "{}",          "5"};
  EXPECT_EQ(Passing({.mode = FilterMode::kRange, .path = "t", .low = 0, .high = 10}, payloads),
            (List{"{\"t\":0}", "{\"t\":5.5}", "{\"t\":10}"}));
  EXPECT_EQ(Passing({.mode = FilterMode::kRange,
                     .path = "t",
                     .low = -std::numeric_limits<double>::infinity(),
                     .high = 0},
                    payloads),
            (List{"{\"t\":-1}", "{\"t\":0}"}));
}

TEST(Filter, ReportsByException) {
  EXPECT_EQ(Passing({.mode = FilterMode::kChange}, {"1", "1", "1.0", "2", "2", "1"}),
            (List{"1", "2", "1"}));
}

TEST(Filter, ComparesWithTheValueThatPassedLast) {
  // A slow drift is seen once it exceeds the dead band.
  EXPECT_EQ(
      Passing({.mode = FilterMode::kChange, .band = 1}, {"10", "10.5", "11", "11.5", "12", "10.4"}),
      (List{"10", "11.5", "10.4"}));
}

TEST(Filter, TakesADeadBandInPercent) {
  EXPECT_EQ(Passing({.mode = FilterMode::kChange, .band = 10, .percent = true},
                    {"-100", "-110", "-111", "0", "0", "0.001"}),
            (List{"-100", "-111", "0", "0.001"}));
}

TEST(Filter, OtherValuesPassWhenTheyChange) {
  EXPECT_EQ(Passing({.mode = FilterMode::kChange, .path = "s", .band = 5},
                    {R"({"s":"on"})", R"({"s":"on","x":1})", R"({"s":"off"})", R"({"s":false})",
                     R"({"s":false})", R"({"s":1})", R"({"s":2})"}),
            (List{R"({"s":"on"})", R"({"s":"off"})", R"({"s":false})", R"({"s":1})"}));
  EXPECT_EQ(Passing({.mode = FilterMode::kChange, .path = "s"},
                    {R"({"s":[1]})", R"({"s":[1],"x":1})", R"({"s":[2]})", R"({"s":{}})"}),
            (List{R"({"s":[1]})", R"({"s":[2]})", R"({"s":{}})"}));
}

TEST(Filter, APayloadThatIsNotJsonIsComparedAsAWhole) {
  EXPECT_EQ(Passing({.mode = FilterMode::kChange}, {"on", "on", "off", "on"}),
            (List{"on", "off", "on"}));
}

TEST(Filter, ARecordWithoutTheValuePasses) {
  EXPECT_EQ(Passing({.mode = FilterMode::kChange, .path = "t"}, {"{}", "{}", "x", "x"}),
            (List{"{}", "{}", "x", "x"}));
}

TEST(Filter, ReportsAnywayAfterTheLongestPause) {
  EXPECT_EQ(Passing({.mode = FilterMode::kChange, .every_s = 3},
                    {"1", "1", "1", "1", "1", "2", "2", "2", "2"}),
            (List{"1", "1", "2", "2"}));
}

TEST(Filter, KnowsEachDeviceAndTopic) {
  Filter filter({.mode = FilterMode::kChange});
  for (const char* device : {"a", "b"}) {
    for (const char* topic : {"t", "u"}) {
      EXPECT_TRUE(filter.Passes(Made(device, topic, "1"))) << device << topic;
      EXPECT_FALSE(filter.Passes(Made(device, topic, "1"))) << device << topic;
    }
  }
  // Where the device ends and the topic begins counts.
  EXPECT_TRUE(filter.Passes(Made("at", "", "1")));
}

TEST(Filter, LimitsTheRateOfADevice) {
  Filter filter({.mode = FilterMode::kRate, .records = 2, .period_s = 10});
  std::string passed;
  for (int64_t s : {0, 1, 2, 9, 10, 11, 12, 35, 44, 44, 45}) {
    const bool passes = filter.Passes(Made("d", s % 2 ? "t" : "u", "x", 100 + s * kSecond));
    passed += passes ? '1' : '0';
    if (s == 2) {
      EXPECT_TRUE(filter.Passes(Made("e", "t", "x", s * kSecond)));
    }
  }
  EXPECT_EQ(passed, "11001101101");
}

TEST(Filter, ForgetsTheDeviceThatWasSeenLeastRecently) {
  Filter filter({.mode = FilterMode::kChange});
  const auto passes = [&](size_t device) {
    return filter.Passes(Made("d" + std::to_string(device), "t", "1"));
  };
  for (size_t i = 0; i < kMaxFilterKeys; ++i) EXPECT_TRUE(passes(i));
  EXPECT_FALSE(passes(0));  // now 1 is the oldest
  EXPECT_TRUE(passes(kMaxFilterKeys));
  EXPECT_EQ(filter.keys(), kMaxFilterKeys);
  EXPECT_FALSE(passes(0));
  EXPECT_TRUE(passes(1));  // one more passes, and 2 goes
  EXPECT_FALSE(passes(3));
  EXPECT_TRUE(passes(2));
  for (size_t i = 0; i < 3 * kMaxFilterKeys; ++i) passes(100'000 + i);
  EXPECT_EQ(filter.keys(), kMaxFilterKeys);
}

TEST(Filter, PassesARecordAgainThatNothingTook) {
  Filter change({.mode = FilterMode::kChange});
  EXPECT_TRUE(change.Passes(Made("d", "t", "1")));
  change.Forget();
  EXPECT_TRUE(change.Passes(Made("d", "t", "1")));
  EXPECT_FALSE(change.Passes(Made("d", "t", "1")));
  Filter rate({.mode = FilterMode::kRate});
  EXPECT_TRUE(rate.Passes(Made("d", "t", "1")));
  rate.Forget();
  EXPECT_TRUE(rate.Passes(Made("d", "t", "1")));
  EXPECT_FALSE(rate.Passes(Made("d", "t", "1")));
}

// Such a record passes without a comparison.
TEST(Filter, ARecordWithoutTheValueThatNothingTookForgetsNoOtherDevice) {
  Filter filter({.mode = FilterMode::kChange, .path = "t"});
  EXPECT_TRUE(filter.Passes(Made("d", "t", R"({"t":1})")));
  EXPECT_TRUE(filter.Passes(Made("e", "t", R"({"x":1})")));
  filter.Forget();
  EXPECT_EQ(filter.keys(), 1u);
  EXPECT_FALSE(filter.Passes(Made("d", "t", R"({"t":1})")));
}

TEST(Filter, ValidatesItsOptions) {
  const auto message = [](const FilterOptions& options) { return Validate(options).message(); };
  EXPECT_EQ(message({.mode = FilterMode::kPass, .when = ""}),
            "condition: column 1: expected a comparison");
  EXPECT_EQ(message({.mode = FilterMode::kChange, .path = "a."}),
            "path: column 3: expected a name after .");
  EXPECT_EQ(message({.mode = FilterMode::kChange, .band = -1}),
            "dead band must be a number from 0");
  EXPECT_EQ(
      message({.mode = FilterMode::kChange, .band = std::numeric_limits<double>::quiet_NaN()}),
      "dead band must be a number from 0");
  EXPECT_EQ(message({.mode = FilterMode::kChange, .every_s = kMaxFilterS + 1}),
            "longest pause must be 0 to 86400 s");
  EXPECT_EQ(message({.mode = FilterMode::kRate, .records = 0}), "records must be 1 to 1000000");
  EXPECT_EQ(message({.mode = FilterMode::kRate, .period_s = 0}), "period must be 1 to 86400 s");
  EXPECT_EQ(message({.mode = FilterMode::kRange, .low = 2, .high = 1}),
            "the range's low end must not exceed its high end");
}

}  // namespace
}  // namespace seganet
