#include "core/forecast/series_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>

namespace seganet {
namespace {

TEST(SeriesTableTest, DoesWhatAMapDoes) {
  SeriesTable table(24);
  std::map<uint64_t, float> model;
  std::mt19937_64 random(3);
  for (int i = 0; i < 200'000; ++i) {
    // Keys with the same low bits meet in the index.
    const uint64_t key = (random() % 500) << 32 | (random() % 3);
    const Series found = table.Find(key);
    ASSERT_EQ(static_cast<bool>(found), model.contains(key)) << i;
    if (!found) {
      const Series series = table.Add(key);
      EXPECT_EQ(series.state->age, 0);
      series.season[23] = static_cast<float>(i);
      model[key] = static_cast<float>(i);
    } else {
      ASSERT_EQ(found.season[23], model[key]) << i;
      if (i % 2 == 0 || model.size() > 900) {
        table.EraseKey(key);
        model.erase(key);
      }
    }
    ASSERT_EQ(table.size(), model.size());
  }
  for (size_t i = 0; i < table.size(); ++i) {
    EXPECT_EQ(table.at(i).season[23], model.at(table.at(i).state->key));
  }
}

TEST(SeriesTableTest, ReturnsItsMemory) {
  SeriesTable table(24);
  EXPECT_EQ(table.bytes(), 0u);
  constexpr uint64_t kSeries = 100'000;
  for (uint64_t i = 0; i < kSeries; ++i) table.Add(i * 0x9e3779b97f4a7c15);
  EXPECT_LE(table.bytes(), kSeries * SeriesBytes(24) + 70'000);
  EXPECT_LE(table.bytes(), 20'000'000u);
  while (table.size() > 0) table.Erase(table.size() / 2);
  EXPECT_LE(table.bytes(), 2'000'000u);
  table.Clear();
  EXPECT_EQ(table.bytes(), 0u);
  EXPECT_FALSE(table.Find(1));
}

}  // namespace
}  // namespace seganet
