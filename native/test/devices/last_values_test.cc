#include "core/devices/last_values.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/devices/device_table.h"
#include "core/devices/value_rows.h"
#include "test/support/support.h"

namespace seganet {
namespace {

using test::kSecond;

constexpr int64_t kMinute = 60 * kSecond;

// The values of one worker, and its devices.
struct Worker {
  Worker(LastValuesOptions options, uint32_t index, SharedValues* shared)
      : values(std::move(options), index, shared, &counters) {}

  void Keep(std::string_view device, std::string_view topic, std::string_view payload,
            int64_t at_us = kMinute, uint32_t seq = 0) {
    KeepAt(devices.Get(device, at_us), topic, payload, at_us, seq);
  }
  void KeepAt(Device* device, std::string_view topic, std::string_view payload, int64_t at_us,
              uint32_t seq = 0) {
    Record record = test::MakeRecord(device->id, topic, payload, kNormal, at_us);
    record.seq = seq;
    record.ts_ms = at_us / 1000;
    values.Keep(device, record);
  }
  std::vector<ValueRow> All(ValueQuery query = {.limit = 1000}, int64_t now_us = kMinute) {
    return values.Page(query, now_us).rows;
  }
  std::string Keys(const ValueQuery& query) {
    std::string keys;
    for (const ValueRow& row : All(query)) keys += row.device + ":" + row.topic + " ";
    return keys;
  }
  uint64_t evicted() const {
    return counters.counters[static_cast<size_t>(Counter::kValuesEvicted)].Get();
  }

  CounterBlock counters;
  std::atomic<int64_t> connected{0};
  LastValues values;
  Identities identities;
  DeviceTable devices{1000, &connected, &identities};
};

class LastValuesTest : public testing::Test {
 protected:
  LastValuesTest() { shared_.memory.SetLimit(kMiB); }

  static constexpr int64_t kMiB = 1 << 20;
  SharedValues shared_;
  Worker worker_{{.memory_mib = 1, .topics = 4, .not_kept = {"secret/#", "+/raw"}}, 0, &shared_};
};

TEST_F(LastValuesTest, KeepsTheLatestRecordOfEachTopic) {
  worker_.Keep("a", "t/1", "1", kMinute, 1);
  worker_.Keep("a", "t/2", "on", kMinute, 2);
  worker_.Keep("a", "t/1", "2", 2 * kMinute, 3);
  const auto rows = worker_.All();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].topic + "=" + rows[0].payload, "t/1=2");
  EXPECT_EQ(rows[0].seq, 3u);
  EXPECT_EQ(rows[0].size, 1u);
  EXPECT_EQ(rows[0].ts_ms, 120'000);
  EXPECT_EQ(rows[0].record_class, kNormal);
  EXPECT_FALSE(rows[0].restored);
  EXPECT_EQ(rows[1].topic + "=" + rows[1].payload, "t/2=on");
  EXPECT_FALSE(rows[1].has_line);
  EXPECT_EQ(shared_.kept, 2);
}

TEST_F(LastValuesTest, KeepsOnlyTheSizeOfAPayloadOfOneByteMore) {
  worker_.Keep("a", "t", std::string(kMostValueBytes, 'x'));
  EXPECT_EQ(worker_.All()[0].payload.size(), kMostValueBytes);
  worker_.Keep("a", "t", std::string(kMostValueBytes + 1, 'x'));
  EXPECT_EQ(worker_.All()[0].payload, "");
  EXPECT_EQ(worker_.All()[0].size, kMostValueBytes + 1);
  worker_.Keep("a", "t", std::string("\0\xFF", 2));
  EXPECT_EQ(worker_.All()[0].payload, std::string("\0\xFF", 2));
}

TEST_F(LastValuesTest, KeepsNothingOfLongTopicsAndOfTopicsOfItsFilters) {
  worker_.Keep("a", std::string(kMostValueTopicBytes, 't'), "1");
  worker_.Keep("b", std::string(kMostValueTopicBytes + 1, 't'), "1");
  worker_.Keep("b", "secret/key", "1");
  worker_.Keep("b", "b/raw", "1");
  EXPECT_EQ(worker_.All().size(), 1u);
  EXPECT_EQ(worker_.devices.Find("b")->values, nullptr);
}

TEST_F(LastValuesTest, KeepsTheFirstNumberOfEachMinuteOfTheLastHour) {
  for (int64_t m = 1; m <= 100; ++m) {
    if (m == 70) continue;  // a silent minute
    worker_.Keep("a", "t", m == 80 ? "on" : std::to_string(m), m * kMinute);
    worker_.Keep("a", "t", "-1", m * kMinute + kSecond);
  }
  const ValueLine line = worker_.All({}, 102 * kMinute)[0].line;
  for (size_t i = 0; i < kLinePoints; ++i) {
    const size_t minute = 102 - 59 + i;
    const bool has_none = minute == 70 || minute == 80 || minute > 100;
    if (has_none) {
      EXPECT_TRUE(std::isnan(line[i])) << minute;
    } else {
      EXPECT_EQ(line[i], static_cast<float>(minute));
    }
  }
  const ValueLine silent = worker_.All({}, 200 * kMinute)[0].line;
  for (const float point : silent) EXPECT_TRUE(std::isnan(point));
  worker_.Keep("a", "t", "7", 500 * kMinute);
  const ValueLine later = worker_.All({}, 500 * kMinute)[0].line;
  EXPECT_EQ(later[59], 7);
  for (size_t i = 0; i < 59; ++i) EXPECT_TRUE(std::isnan(later[i])) << i;
  worker_.Keep("a", "huge", "1e300", kMinute);
  EXPECT_FALSE(worker_.All({.filter = "huge"})[0].has_line);
}

TEST_F(LastValuesTest, OneTopicMoreEvictsTheOneThatTheDeviceRenewedLeastRecently) {
  for (int i = 0; i < 4; ++i) worker_.Keep("a", "t/" + std::to_string(i), "1", kMinute + i);
  worker_.Keep("a", "t/0", "2", kMinute + 10);
  worker_.Keep("a", "t/4", "1", kMinute + 11);
  EXPECT_EQ(worker_.Keys({}), "a:t/0 a:t/2 a:t/3 a:t/4 ");
  EXPECT_EQ(worker_.evicted(), 1u);
}

TEST_F(LastValuesTest, StaysWithinItsMemoryAndEvictsWhatWasRenewedLeastRecently) {
  // The first device goes on; the others send once.
  const std::string payload(500, 'x');
  for (int i = 0; i < 5000; ++i) {
    worker_.Keep("d" + std::to_string(i % 900), "t" + std::to_string(i / 900), payload,
                 kMinute + i * kSecond);
    worker_.Keep("busy", "t", payload, kMinute + i * kSecond);
    ASSERT_LE(shared_.memory.used(), kMiB);
  }
  EXPECT_GT(worker_.evicted(), 3000u);
  EXPECT_GT(shared_.memory.used(), kMiB * 9 / 10);
  std::set<std::string> left;
  for (const ValueRow& row : worker_.All({.limit = 4000})) left.insert(row.device + row.topic);
  EXPECT_EQ(static_cast<int64_t>(left.size()), shared_.kept);
  EXPECT_EQ(left.count("busyt"), 1u);
  for (int i = 5000 - static_cast<int>(left.size()) + 1; i < 5000; ++i) {
    EXPECT_EQ(left.count("d" + std::to_string(i % 900) + "t" + std::to_string(i / 900)), 1u) << i;
  }
}

TEST_F(LastValuesTest, AValueThatGrowsStaysAndTheNextOldestLeaves) {
  shared_.memory.SetLimit(3'500);
  worker_.Keep("a", "t", "1");
  worker_.Keep("b", "t", std::string(1000, 'x'));
  worker_.Keep("c", "t", std::string(1000, 'x'));
  EXPECT_EQ(worker_.evicted(), 0u);
  worker_.Keep("a", "t", std::string(1000, 'x'));
  EXPECT_EQ(worker_.Keys({}), "a:t c:t ");
  EXPECT_LE(shared_.memory.used(), 3'500);
}

TEST_F(LastValuesTest, FreesTheMemoryOfDevicesThatLeave) {
  for (int i = 0; i < 1500; ++i) worker_.Keep("d" + std::to_string(i), "t", "1");
  EXPECT_EQ(worker_.devices.size(), 1000u);
  EXPECT_EQ(shared_.kept, 1000);
  auto rows = worker_.devices.Take([](const Device&) { return true; });
  rows.clear();
  EXPECT_EQ(shared_.kept, 0);
  EXPECT_EQ(shared_.memory.used(), 0);
  EXPECT_TRUE(worker_.All().empty());
}

TEST_F(LastValuesTest, OfAllWorkersTheOneWithTheOldestValuesMakesRoomFirst) {
  Worker other({.memory_mib = 1, .topics = 4}, 1, &shared_);
  const std::string payload(900, 'x');
  for (int i = 0; i < 400; ++i) worker_.Keep("old" + std::to_string(i), "t", payload, kMinute + i);
  worker_.values.Sweep();
  const int64_t limit = kMiB - kMiB / 16;
  for (int i = 0; shared_.memory.used() <= limit; ++i) {
    other.Keep("new" + std::to_string(i), "t", payload, 2 * kMinute + i);
  }
  const size_t fresh = other.All({.limit = 2000}).size();
  other.values.Sweep();
  EXPECT_EQ(other.evicted(), 0u);
  worker_.values.Sweep();
  EXPECT_GT(worker_.evicted(), 0u);
  EXPECT_LE(shared_.memory.used(), limit);
  EXPECT_EQ(other.All({.limit = 2000}).size(), fresh);
}

TEST_F(LastValuesTest, ValuesMoveWithTheirDevice) {
  Worker other({.memory_mib = 1, .topics = 4}, 1, &shared_);
  worker_.Keep("a", "t", "1", kMinute, 1);
  worker_.Keep("b", "t", "2", kMinute, 2);
  other.Keep("c", "t", "3", 3 * kMinute, 3);
  const int64_t bytes = shared_.memory.used();
  auto rows = worker_.devices.Take([](const Device& device) { return device.id == "a"; });
  worker_.values.Leave(rows[0].get());
  EXPECT_EQ(worker_.Keys({}), "b:t ");
  other.values.Enter(other.devices.Put(std::move(rows[0])));
  EXPECT_EQ(other.Keys({}), "a:t c:t ");
  EXPECT_EQ(shared_.memory.used(), bytes);
  other.Keep("a", "t", "4", 4 * kMinute);
  EXPECT_EQ(other.All()[0].payload, "4");
}

TEST_F(LastValuesTest, TheRowsOfOneIdAreOneDeviceForReaders) {
  Worker other({.memory_mib = 1, .topics = 4}, 1, &shared_);
  worker_.identities.Activate();
  other.identities.Activate();
  Device* const one = worker_.devices.Get("bridge-1", kMinute);
  Device* const two = worker_.devices.Get("bridge-2", kMinute);
  worker_.Keep("x", "t", "own", kMinute);
  worker_.KeepAt(worker_.devices.GetBehind(one, "x", kMinute), "t", "one", 2 * kMinute);
  worker_.KeepAt(worker_.devices.GetBehind(one, "x", kMinute), "u", "one", 2 * kMinute);
  worker_.KeepAt(worker_.devices.GetBehind(two, "x", kMinute), "t", "two", 3 * kMinute);
  EXPECT_EQ(shared_.kept, 4);
  EXPECT_EQ(worker_.Keys({}), "x:t x:u ");
  EXPECT_EQ(worker_.All()[0].payload, "two");
  EXPECT_EQ(worker_.Keys({.device = "x", .limit = 1}), "x:t ");
  EXPECT_EQ(worker_.Keys({.after = {"x", "t"}, .device = "x"}), "x:u ");
  EXPECT_EQ(worker_.values.Changed({.device = "x"}, 0, 4 * kMinute).rows.size(), 4u);
  worker_.devices.DropBehind(two);
  EXPECT_EQ(worker_.All()[0].payload, "one");
  auto rows = worker_.devices.Take([](const Device& device) { return device.id == "bridge-1"; });
  worker_.values.Leave(rows[0].get());
  EXPECT_EQ(worker_.Keys({}), "x:t ");
  EXPECT_EQ(worker_.All()[0].payload, "own");
  Device* const moved = other.devices.Put(std::move(rows[0]));
  other.values.Enter(moved);
  EXPECT_EQ(other.Keys({}), "x:t x:u ");
  other.KeepAt(DeviceTable::FindBehind(moved, "x"), "u", "new", 5 * kMinute);
  EXPECT_EQ(other.All()[1].payload, "new");
  other.devices.DropBehind(moved);
  EXPECT_EQ(other.Keys({}), "");
  EXPECT_EQ(shared_.kept, 1);
}

TEST_F(LastValuesTest, PagesInTheOrderOfDevicesAndTopics) {
  for (const char* device : {"b", "a", "c"}) {
    for (const char* topic : {"t/2", "t/1", ""}) worker_.Keep(device, topic, "1");
  }
  ValueQuery query{.limit = 2};
  std::string keys;
  for (;;) {
    const ValuePage page = worker_.values.Page(query, kMinute);
    for (const ValueRow& row : page.rows) keys += row.device + ":" + row.topic + " ";
    EXPECT_LE(page.rows.size(), 2u);
    if (page.is_complete) break;
    query.after = page.reached;
  }
  EXPECT_EQ(keys, "a: a:t/1 a:t/2 b: b:t/1 b:t/2 c: c:t/1 c:t/2 ");
}

TEST_F(LastValuesTest, FindsByDeviceFilterAndText) {
  worker_.Keep("pump", "plant/pump/temp", "21");
  worker_.Keep("pump", "plant/pump/state", R"({"mode":"Running"})");
  worker_.Keep("fan", "plant/fan/temp", "30");
  EXPECT_EQ(worker_.Keys({.device = "fan"}), "fan:plant/fan/temp ");
  EXPECT_EQ(worker_.Keys({.device = "none"}), "");
  EXPECT_EQ(worker_.Keys({.after = {"pump", ""}, .device = "fan"}), "");
  EXPECT_EQ(worker_.Keys({.filter = "plant/+/temp"}), "fan:plant/fan/temp pump:plant/pump/temp ");
  EXPECT_EQ(worker_.Keys({.search = "RUNNING"}), "pump:plant/pump/state ");
  EXPECT_EQ(worker_.Keys({.search = "Fan"}), "fan:plant/fan/temp ");
  EXPECT_EQ(worker_.Keys({.filter = "plant/#", .search = "nothing"}), "");
}

TEST_F(LastValuesTest, LooksAtABoundedNumberOfValuesInOneCall) {
  Worker many({.memory_mib = 1, .topics = 1024}, 1, &shared_);
  shared_.memory.SetLimit(64 * kMiB);
  const size_t values = LastValues::kMostExamined + 1;
  for (size_t i = 0; i < values; ++i) {
    many.Keep("d" + std::to_string(i / 1000), "t" + std::to_string(i % 1000), "1");
  }
  ValueQuery query{.filter = "none", .limit = 1000};
  ValuePage page = many.values.Page(query, kMinute);
  EXPECT_FALSE(page.is_complete);
  EXPECT_TRUE(page.rows.empty());
  query.after = page.reached;
  EXPECT_TRUE(many.values.Page(query, kMinute).is_complete);
  query = {.search = "none"};
  size_t calls = 1;
  for (; !(page = many.values.Page(query, kMinute)).is_complete; ++calls)
    query.after = page.reached;
  EXPECT_EQ(calls, values / (LastValues::kMostExamined / LastValues::kSearchCost) + 1);
  size_t counted = 0;
  ValueKey after;
  for (bool is_complete = false; !is_complete;) {
    const TopicLevels levels = many.values.Levels("", after);
    for (const auto& [name, level] : levels.levels) counted += level.values;
    after = levels.reached;
    is_complete = levels.is_complete;
  }
  EXPECT_EQ(counted, values);
  EXPECT_FALSE(many.values.Changed({.limit = 1000}, 0, kMinute).is_complete);
}

TEST_F(LastValuesTest, ReturnsWhatChangedAndMissesNothing) {
  worker_.Keep("a", "t", "1", kMinute);
  worker_.Keep("b", "t", "1", kMinute + 1);
  ValuePage page = worker_.values.Changed({}, 0, kMinute + 100);
  EXPECT_EQ(page.rows.size(), 2u);
  // In the same turn as the reading, whose time began before it.
  worker_.Keep("a", "t", "2", kMinute + 50);
  page = worker_.values.Changed({}, page.at_us, kMinute + 200);
  ASSERT_EQ(page.rows.size(), 1u);
  EXPECT_EQ(page.rows[0].payload, "2");
  EXPECT_TRUE(worker_.values.Changed({}, page.at_us, kMinute + 300).rows.empty());
  worker_.Keep("b", "t", "3", kMinute + kSecond / 2);
  worker_.Keep("c", "u", "4", kMinute + 2 * kSecond);
  page = worker_.values.Changed({.limit = 1}, page.at_us, kMinute + 3 * kSecond);
  ASSERT_EQ(page.rows.size(), 1u);
  EXPECT_EQ(page.rows[0].device, "c");
  EXPECT_FALSE(page.is_complete);
  page = worker_.values.Changed({.device = "b"}, kMinute + 300, kMinute + 4 * kSecond);
  ASSERT_EQ(page.rows.size(), 1u);
  EXPECT_EQ(page.rows[0].payload, "3");
}

TEST_F(LastValuesTest, ListsOneLevelOfTheTopics) {
  worker_.Keep("a", "plant", "1", kMinute);
  worker_.Keep("a", "plant/1/temp", "1", 2 * kMinute);
  worker_.Keep("b", "plant/2", "1", 3 * kMinute);
  worker_.Keep("b", "/x", "1", kMinute);
  const TopicLevels top = worker_.values.Levels("", {});
  ASSERT_EQ(top.levels.size(), 2u);
  EXPECT_EQ(top.levels.find("plant")->second.values, 3u);
  EXPECT_EQ(top.levels.find("plant")->second.ts_ms, 180'000);
  EXPECT_TRUE(top.levels.find("plant")->second.has_children);
  EXPECT_TRUE(top.levels.find("")->second.has_children);
  const TopicLevels below = worker_.values.Levels("plant/", {});
  ASSERT_EQ(below.levels.size(), 2u);
  EXPECT_TRUE(below.levels.find("1")->second.has_children);
  EXPECT_FALSE(below.levels.find("2")->second.has_children);
}

TEST_F(LastValuesTest, VisitsWhatMatchesInPortions) {
  for (int i = 0; i < 7; ++i) worker_.Keep("d" + std::to_string(i), i % 2 ? "odd" : "even", "1");
  std::string seen;
  ValueKey after;
  int portions = 1;
  while (!worker_.values.ForEachMatching(
      "even", 3, &after, [&](const Device& d, const LastValue&) { seen += d.id; })) {
    ++portions;
  }
  EXPECT_EQ(seen, "d0d2d4d6");
  EXPECT_EQ(portions, 2);
  EXPECT_FALSE(
      worker_.values.ForEachMatching("#", 0, &after, [](const auto&, const auto&) { FAIL(); }));
}

TEST_F(LastValuesTest, SavesAndRestoresValues) {
  const Now saved{.mono_us = 100 * kMinute, .wall_ms = 1'700'000'000'000};
  worker_.Keep("a", "t", "7", 98 * kMinute, 5);
  worker_.Keep("a", "t", R"({"x":8})", 99 * kMinute, 6);
  worker_.Keep("b", "binary", std::string("\0\xFF", 2), 99 * kMinute);
  worker_.Keep("b", "long", std::string(5000, 'x'), 99 * kMinute);
  std::string rows;
  ValueKey after;
  EXPECT_TRUE(worker_.values.Save(&after, saved, &rows));

  // The machine has restarted, so its monotonic clock starts at 0 again.
  SharedValues shared;
  shared.memory.SetLimit(kMiB);
  Worker next({.memory_mib = 1, .topics = 4}, 0, &shared);
  const Now now{.mono_us = 30 * kSecond, .wall_ms = saved.wall_ms + 180'000};
  next.Keep("b", "binary", "new", now.mono_us);
  std::string_view rest = rows;
  ValueRow row;
  size_t count = 0;
  for (; !rest.empty(); ++count, row = {}) {
    ASSERT_TRUE(ReadValueRow(&rest, now, &row));
    EXPECT_TRUE(next.values.Restore(next.devices.Get(row.device, 0), row, now.mono_us));
  }
  EXPECT_EQ(count, 3u);
  const auto all = next.All({}, now.mono_us);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].payload, R"({"x":8})");
  EXPECT_TRUE(all[0].restored);
  EXPECT_EQ(all[0].seq, 6u);
  EXPECT_EQ(all[0].ts_ms, 99 * 60'000);
  EXPECT_EQ(all[0].line[55], 8);  // four minutes ago
  EXPECT_EQ(all[0].line[54], 7);
  EXPECT_EQ(all[1].payload, "new");
  EXPECT_FALSE(all[1].restored);
  EXPECT_EQ(all[2].size, 5000u);
  next.Keep("a", "t", "9", kMinute);
  EXPECT_FALSE(next.All()[0].restored);
  EXPECT_EQ(next.All({}, kMinute)[0].line[59], 9);
  // Restored values leave before those that were renewed in this run.
  for (int i = 0; i < 3; ++i) next.Keep("b", "t" + std::to_string(i), "1", 2 * kMinute + i);
  EXPECT_EQ(next.Keys({.device = "b"}), "b:binary b:t0 b:t1 b:t2 ");
}

TEST_F(LastValuesTest, RestoresNothingWhenMemoryIsFull) {
  ValueRow row;
  row.topic = "t";
  row.payload = std::string(1000, 'x');
  row.size = 1000;
  size_t restored = 0;
  for (int i = 0; i < 1000; ++i) {
    row.device = "d" + std::to_string(i);
    restored += worker_.values.Restore(worker_.devices.Get(row.device, 0), row, kMinute);
  }
  EXPECT_LT(restored, 1000u);
  EXPECT_LE(shared_.memory.used(), kMiB);
  EXPECT_EQ(worker_.evicted(), 0u);
}

TEST_F(LastValuesTest, ReadsNoDamagedRow) {
  ValueRow value;
  value.device = "a";
  value.topic = "t";
  value.payload = "5";
  value.size = 1;
  value.has_line = true;
  const Now now{.mono_us = kMinute, .wall_ms = 1'700'000'000'000};
  std::string row;
  AppendValueRow(value, now, &row);
  const auto reads = [&now](std::string_view bytes) {
    ValueRow read;
    return ReadValueRow(&bytes, now, &read);
  };
  EXPECT_TRUE(reads(row));
  for (size_t n = 0; n < row.size(); ++n) EXPECT_FALSE(reads(row.substr(0, n))) << n;
  test::Random random;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = row;
    bytes[random.In<size_t>(0, bytes.size() - 1)] = static_cast<char>(random.In(0, 255));
    ValueRow read;
    std::string_view rest = bytes;
    if (!ReadValueRow(&rest, now, &read)) continue;
    EXPECT_LE(read.changed_us, now.mono_us);
    worker_.values.Restore(worker_.devices.Get(read.device, 0), read, kMinute);
  }
  EXPECT_LE(shared_.memory.used(), kMiB);
}

TEST_F(LastValuesTest, ARandomRunKeepsItsListsAndItsMemoryRight) {
  test::Random random;
  Worker other({.memory_mib = 1, .topics = 4}, 1, &shared_);
  shared_.memory.SetLimit(40'000);
  int64_t now_us = kMinute;
  for (int i = 0; i < 20'000; ++i) {
    Worker* const at = random.OneIn(2) ? &worker_ : &other;
    // A device is on one worker only.
    const std::string device = (at == &other ? "o" : "w") + std::to_string(random.In(0, 40));
    now_us += random.In<int64_t>(0, 2 * kSecond);
    at->Keep(device, "t" + std::to_string(random.In(0, 6)), random.Bytes(random.In<size_t>(0, 300)),
             now_us);
    if (random.OneIn(50)) at->values.Sweep();
    if (random.OneIn(200)) {
      auto rows = at->devices.Take([&](const Device& d) { return d.id == device; });
      at->values.Leave(rows[0].get());
      if (random.OneIn(2)) at->values.Enter(at->devices.Put(std::move(rows[0])));
    }
    if (random.OneIn(20)) {
      const ValuePage page = at->values.Changed({.limit = 5}, now_us - 3 * kSecond, now_us);
      for (const ValueRow& row : page.rows) EXPECT_GT(row.changed_us, now_us - 3 * kSecond);
      now_us = std::max(now_us, page.at_us);
    }
    ASSERT_LE(shared_.memory.used(), 40'000);
  }
  const size_t kept = worker_.All().size() + other.All().size();
  EXPECT_EQ(static_cast<int64_t>(kept), shared_.kept);
}

}  // namespace
}  // namespace seganet
