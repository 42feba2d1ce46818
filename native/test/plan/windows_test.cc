#include "core/plan/windows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "test/support/support.h"

namespace seganet {
namespace {

using test::kSecond;

struct Ended {
  std::string device, topic, payload;
  WindowEnd end;
  uint8_t record_class;
  uint32_t seq;
  int64_t ts_ms, end_us;
  size_t receipts;
};

class WindowsTest : public testing::Test {
 protected:
  void Make(const WindowOptions& options) {
    const Status status = Validate(options);
    ASSERT_TRUE(status.ok()) << status.message();
    windows_ = std::make_unique<Windows>(
        options, &budget_, &totals_, [this](Window* window, WindowEnd end) {
          std::string payload;
          AppendWindow(*window, windows_->options(), end, &payload);
          ended_.push_back({window->device, window->topic, payload, end, window->record_class,
                            window->seq, window->ts_ms, window->end_us, window->receipts.size()});
        });
  }

  bool Add(std::string_view payload, int64_t now_us, std::string_view device = "d",
           std::string_view topic = "t", uint8_t record_class = kNormal, uint64_t handle = 0) {
    Record record;
    record.device = device;
    record.topic = topic;
    record.payload = payload;
    record.record_class = record_class;
    record.arrived_us = now_us;
    record.ts_ms = now_us / 1000;
    record.seq = ++seq_;
    record.receipt = {1, 1, handle};
    return windows_->Add(record, now_us + wall_us_);
  }

  std::vector<Ended> Take() { return std::exchange(ended_, {}); }
  // Returns the payload of the only window that ended.
  std::string Payload() {
    const std::vector<Ended> all = Take();
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? "" : all[0].payload;
  }

  Budget budget_{64 << 20};
  WindowTotals totals_;
  std::unique_ptr<Windows> windows_;
  std::vector<Ended> ended_;
  int64_t wall_us_ = 1'000'000'000 * kSecond;  // of CLOCK_MONOTONIC 0
  uint32_t seq_ = 0;
};

TEST_F(WindowsTest, AggregatesTheValuesOfAWindow) {
  Make({.values = {"temp", "$.sensors[0].rssi"}, .length_s = 10});
  EXPECT_TRUE(Add(R"({"temp":2,"sensors":[{"rssi":-50}]})", 0));
  EXPECT_TRUE(Add(R"({"temp":4.5})", kSecond));
  EXPECT_TRUE(Add(R"({"temp":1})", 2 * kSecond));
  EXPECT_EQ(windows_->NextEnd(), 10 * kSecond);
  EXPECT_EQ(windows_->EndDue(10 * kSecond - 1, 9), 0u);
  EXPECT_EQ(windows_->EndDue(10 * kSecond, 9), 1u);
  const std::vector<Ended> all = Take();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].payload,
            R"({"from":1000000000000,"to":1000000010000,"records":3,"values":{)"
            R"("temp":{"first":2,"last":1,"min":1,"max":4.5,"mean":2.5,"sum":7.5,"count":3},)"
            R"("$.sensors[0].rssi":{"first":-50,"last":-50,"min":-50,"max":-50,"mean":-50,)"
            R"("sum":-50,"count":1}}})");
  EXPECT_EQ(all[0].end, WindowEnd::kTime);
  EXPECT_EQ(all[0].seq, 3u);
  EXPECT_EQ(all[0].ts_ms, 2000);
  EXPECT_EQ(windows_->NextEnd(), kNever);
}

TEST_F(WindowsTest, ReportsTheChosenAggregates) {
  Make({.values = {"a", "b"}, .aggregates = aggregate::kMin | aggregate::kMean});
  Add(R"({"a":1})", 0);
  Add(R"({"a":2})", 1);
  windows_->EndDue(60 * kSecond, 1);
  EXPECT_EQ(Payload(), R"({"from":1000000000000,"to":1000000060000,"records":2,"values":{)"
                       R"("a":{"min":1,"mean":1.5},"b":{"count":0}}})");
}

TEST_F(WindowsTest, TheNextRecordBeginsANewWindow) {
  Make({.values = {"$"}, .aggregates = aggregate::kSum, .length_s = 2});
  Add("1", 0);
  Add("2", 2 * kSecond - 1);
  Add("4", 2 * kSecond);  // ends the first window
  EXPECT_EQ(Payload(),
            R"({"from":1000000000000,"to":1000000002000,"records":2,"values":{"$":{"sum":3}}})");
  EXPECT_EQ(windows_->NextEnd(), 4 * kSecond);
  Add("8", 9 * kSecond);
  EXPECT_EQ(Payload(),
            R"({"from":1000000002000,"to":1000000004000,"records":1,"values":{"$":{"sum":4}}})");
  EXPECT_EQ(windows_->NextEnd(), 11 * kSecond);
}

TEST_F(WindowsTest, EndsAtANumberOfRecords) {
  Make({.values = {"$"}, .aggregates = aggregate::kLast, .length_s = 60, .records = 3});
  for (int i = 1; i <= 7; ++i) Add(std::to_string(i), i * kSecond);
  const std::vector<Ended> all = Take();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].payload,
            R"({"from":1000000001000,"to":1000000003000,"records":3,"values":{"$":{"last":3}}})");
  EXPECT_EQ(all[1].end, WindowEnd::kRecords);
  EXPECT_EQ(windows_->open(), 1u);
}

TEST_F(WindowsTest, AlignsWindowsToTheClock) {
  Make({.values = {"$"}, .aggregates = aggregate::kCount, .length_s = 60, .aligned = true});
  // 10^9 s are 40 s after a whole minute.
  Add("1", 0, "a");
  Add("1", 5 * kSecond, "b");
  EXPECT_EQ(windows_->NextEnd(), 20 * kSecond);
  EXPECT_EQ(windows_->EndDue(20 * kSecond, 9), 2u);
  EXPECT_NE(Take()[1].payload.find(R"("from":999999960000,"to":1000000020000)"), std::string::npos);
  Add("1", 79 * kSecond, "a");
  EXPECT_EQ(windows_->NextEnd(), 80 * kSecond);
}

TEST_F(WindowsTest, AStepOfTheClockDoesNotChangeAWindowThatIsOpen) {
  Make({.values = {"$"}, .aggregates = aggregate::kCount, .length_s = 60, .aligned = true});
  Add("1", 0, "a");
  wall_us_ += 1000 * kSecond;
  Add("1", kSecond, "b");
  EXPECT_EQ(windows_->EndDue(20 * kSecond, 9), 2u);
  EXPECT_EQ(Take()[1].payload.substr(0, 43), R"({"from":999999960000,"to":1000000020000,"re)");
  Add("1", 20 * kSecond, "a");  // 1,000,001,020 s of CLOCK_REALTIME
  EXPECT_EQ(windows_->NextEnd(), 40 * kSecond);
}

TEST_F(WindowsTest, KeepsDevicesAndTopicsApart) {
  Make({.values = {"$"}, .aggregates = aggregate::kSum});
  for (const char* device : {"a", "b"}) {
    for (const char* topic : {"t", "u"}) {
      Add("1", 0, device, topic);
      Add("2", 0, device, topic);
    }
  }
  EXPECT_EQ(windows_->open(), 4u);
  EXPECT_EQ(totals_.open, 4);
  windows_->EndDue(60 * kSecond, 9);
  std::string all;
  for (const Ended& ended : Take()) {
    all += ended.device + ended.topic + " ";
    EXPECT_NE(ended.payload.find(R"({"sum":3})"), std::string::npos);
  }
  EXPECT_EQ(all, "at au bt bu ");
  EXPECT_EQ(totals_.open, 0);
}

TEST_F(WindowsTest, DoesNotTakeARecordWithoutAFiniteNumber) {
  Make({.values = {"t"}});
  for (const char* payload :
       {"", "x", "5", "{}", R"({"t":"5"})", R"({"t":null})", R"({"t":true})", R"({"t":[1]})",
        R"({"t":{"t":1}})", R"({"t":1e999})", R"({"t":-1e999})", R"({"t":NaN})", R"({"t":1)"}) {
    EXPECT_FALSE(Add(payload, 0)) << payload;
  }
  EXPECT_EQ(windows_->open(), 0u);
  EXPECT_TRUE(Add(R"({"t":1,"t":2})", 0));  // the last member of a name counts
  windows_->EndEarly(nullptr, 0);
  EXPECT_NE(Payload().find(R"("first":2)"), std::string::npos);
}

TEST_F(WindowsTest, AMissingValueCountsForItsValueAlone) {
  Make({.values = {"a", "b"}, .aggregates = aggregate::kMean | aggregate::kCount});
  Add(R"({"a":1,"b":"odd"})", 0);
  Add(R"({"a":3,"b":10})", 0);
  Add(R"({"b":20})", 0);
  windows_->EndDue(60 * kSecond, 1);
  EXPECT_EQ(Payload(), R"({"from":1000000000000,"to":1000000060000,"records":3,"values":{)"
                       R"("a":{"mean":2,"count":2},"b":{"mean":15,"count":2}}})");
}

TEST_F(WindowsTest, AnEnvelopeIsNoReading) {
  Make({.values = {"$"}});
  Record record;
  record.payload = "1";
  record.flags = kFlagEnvelope;
  EXPECT_FALSE(windows_->Add(record, 0));
}

TEST_F(WindowsTest, ASumKeepsSmallNumbersBesideLargeOnes) {
  Make({.values = {"$"}, .aggregates = aggregate::kSum});
  for (const char* payload : {"1e16", "1", "1", "-1e16"}) Add(payload, 0);
  windows_->EndEarly(nullptr, 0);
  EXPECT_NE(Payload().find(R"({"sum":2})"), std::string::npos);
}

TEST_F(WindowsTest, ASumBeyondADoubleIsNull) {
  Make({.values = {"$"}, .aggregates = aggregate::kMax | aggregate::kMean | aggregate::kSum});
  for (int i = 0; i < 3; ++i) Add("1e308", 0);
  windows_->EndEarly(nullptr, 0);
  EXPECT_NE(Payload().find(R"({"max":1e+308,"mean":null,"sum":null})"), std::string::npos);
}

TEST_F(WindowsTest, ReportsTheMostUrgentClassOrTheChosenOne) {
  Make({.values = {"$"}});
  Add("1", 0, "d", "t", kBulk);
  Add("1", 0, "d", "t", kHigh);
  Add("1", 0, "d", "t", kNormal);
  windows_->EndEarly(nullptr, 7);
  EXPECT_EQ(ended_[0].record_class, kHigh);
  EXPECT_EQ(ended_[0].end_us, 7);
  Make({.values = {"$"}, .record_class = kBulk});
  Add("1", 0, "d", "t", kCritical);
  windows_->EndEarly(nullptr, 0);
  EXPECT_EQ(ended_[1].record_class, kBulk);
}

TEST_F(WindowsTest, AWindowThatEndsEarlyIsPartial) {
  Make({.values = {"$"}, .aggregates = aggregate::kCount});
  Add("1", 0, "a");
  Add("1", 3 * kSecond, "b");
  EXPECT_EQ(windows_->EndEarly([](std::string_view device) { return device == "b"; }, 9), 1u);
  EXPECT_EQ(Payload(), R"({"from":1000000003000,"to":1000000003000,"records":1,"partial":true,)"
                       R"("values":{"$":{"count":1}}})");
  EXPECT_EQ(windows_->open(), 1u);
}

TEST_F(WindowsTest, OneWindowTooManyEndsTheOldest) {
  Make({.values = {"$"}});
  for (size_t i = 0; i <= kMaxOpenWindows; ++i) Add("1", 0, std::to_string(i));
  EXPECT_EQ(windows_->open(), kMaxOpenWindows);
  const std::vector<Ended> all = Take();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].device, "0");
  EXPECT_EQ(all[0].end, WindowEnd::kEarly);
}

TEST_F(WindowsTest, TheEnginesWindowsTakeAQuarterOfTheMemory) {
  budget_.SetLimit(1 << 20);
  Make({.values = {"$"}});
  const std::string topic(10'000, 't');
  for (int i = 0; i < 100; ++i) {
    Add("1", 0, std::to_string(i), topic);
    EXPECT_LE(totals_.bytes, 1 << 18);
    EXPECT_EQ(totals_.bytes, budget_.held());
  }
  EXPECT_EQ(Take().size() + windows_->open(), 100u);
  EXPECT_GT(windows_->open(), 20u);
  // Windows of another stage have the memory: one window of a stage is always possible.
  totals_.bytes += 1 << 20;
  Add("1", 0, "one");
  EXPECT_EQ(windows_->open(), 1u);
  totals_.bytes -= 1 << 20;
  windows_.reset();
  EXPECT_EQ(budget_.held(), 0);
  EXPECT_EQ(totals_.bytes, 0);
  EXPECT_EQ(totals_.open, 0);
}

TEST_F(WindowsTest, HoldsReceiptsAndEndsWhenTooManyWait) {
  Make({.values = {"$"}, .hold = true});
  for (size_t i = 1; i <= kMaxHeldRecords + 1; ++i) Add("1", 0, "d", "t", kNormal, i);
  const std::vector<Ended> all = Take();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].end, WindowEnd::kEarly);
  EXPECT_EQ(all[0].receipts, kMaxHeldRecords);
  Add("1", 0, "d", "t", kNormal, 0);  // QoS 0: nobody waits
  windows_->EndEarly(nullptr, 0);
  EXPECT_EQ(Take()[0].receipts, 1u);
  EXPECT_EQ(budget_.held(), 0);
  Make({.values = {"$"}});
  Add("1", 0, "d", "t", kNormal, 1);
  windows_->EndEarly(nullptr, 0);
  EXPECT_EQ(Take()[0].receipts, 0u) << "acknowledged at once";
}

TEST_F(WindowsTest, EachRecordIsInOneWindow) {
  test::Random random;
  const WindowOptions options{.values = {"$"},
                              .length_s = random.In(1u, 5u),
                              .records = random.In(0u, 6u),
                              .aligned = random.OneIn(2)};
  Make(options);
  std::map<std::string, double> expected;
  double added = 0;
  int64_t now = random.In<int64_t>(0, kSecond);
  for (int i = 0; i < 5000; ++i) {
    now += random.In<int64_t>(0, kSecond / 4);
    const std::string device(1, static_cast<char>('a' + random.In(0, 7)));
    const int number = random.In(-1000, 1000);
    EXPECT_TRUE(Add(std::to_string(number), now, device));
    expected[device] += number;
    added += 1;
    if (random.OneIn(5)) windows_->EndDue(now, random.In<size_t>(1, 4));
    if (random.OneIn(50)) wall_us_ += random.In<int64_t>(-10, 10) * kSecond;
    if (random.OneIn(200)) windows_->EndEarly(nullptr, now);
  }
  windows_->EndDue(now + 10 * kSecond, SIZE_MAX);
  EXPECT_EQ(windows_->open(), 0u);
  for (const Ended& ended : Take()) {
    const auto number = [&](const char* name) {
      const size_t at = ended.payload.find(name);
      return std::strtod(ended.payload.c_str() + at + std::string_view(name).size(), nullptr);
    };
    expected[ended.device] -= number("\"sum\":");
    added -= number("\"records\":");
    if (options.records > 0) {
      EXPECT_LE(number("\"records\":"), options.records);
    }
    // Otherwise `to` is the time of the last record, and the clock may have been set in between.
    if (ended.end == WindowEnd::kTime) {
      EXPECT_EQ(number("\"to\":") - number("\"from\":"), options.length_s * 1000.0);
    }
  }
  EXPECT_EQ(added, 0);
  for (const auto& [device, rest] : expected) EXPECT_EQ(rest, 0) << device;
}

TEST(WindowOptionsTest, AreValidated) {
  const auto message = [](const WindowOptions& options) { return Validate(options).message(); };
  EXPECT_EQ(message({}), "a window needs 1 to 16 values");
  EXPECT_EQ(message({.values = std::vector<std::string>(17, "a")}),
            "a window needs 1 to 16 values");
  EXPECT_EQ(message({.values = {"a", "b."}}), "value 'b.': column 3: expected a name after .");
  EXPECT_EQ(message({.values = {"a", "a"}}), "value 'a' is named twice");
  EXPECT_EQ(message({.values = {"a"}, .aggregates = 0}), "a window needs 1 to 7 aggregates");
  EXPECT_EQ(message({.values = {"a"}, .length_s = 0}), "window length must be 1 to 86400 s");
  EXPECT_EQ(message({.values = {"a"}, .length_s = 86'401}), "window length must be 1 to 86400 s");
  EXPECT_EQ(message({.values = {"a"}, .records = 1'000'001}),
            "window records must be 0 to 1000000");
  EXPECT_EQ(message({.values = {"a"}, .record_class = 9}), "window class must be 0 to 8");
  EXPECT_TRUE(Validate({.values = {"a"}}).ok());
}

}  // namespace
}  // namespace seganet
