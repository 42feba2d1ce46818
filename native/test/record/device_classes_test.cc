#include "core/record/device_classes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/record/record.h"

namespace seganet {
namespace {

std::string ProblemOf(const std::vector<DeviceClass>& rows) {
  return ValidateDeviceClasses(rows).message();
}

TEST(DeviceClasses, AreChecked) {
  EXPECT_EQ(ProblemOf({}), "");
  EXPECT_EQ(ProblemOf({{"a", kCritical}, {"b*", kBulk}}), "");
  EXPECT_EQ(ProblemOf({{"a", 1}, {"", 1}}),
            "registered device 2: its id or pattern must be 1 to 256 bytes");
  EXPECT_EQ(ProblemOf({{std::string(kMaxDeviceBytes, 'a'), 1}}), "");
  EXPECT_EQ(ProblemOf({{std::string(kMaxDeviceBytes + 1, 'a'), 1}}),
            "registered device 1: its id or pattern must be 1 to 256 bytes");
  const std::string wrong_class =
      "registered device 1: class must be 1 to " + std::to_string(kClasses);
  EXPECT_EQ(ProblemOf({{"a", 0}}), wrong_class);
  EXPECT_EQ(ProblemOf({{"a", kClasses + 1}}), wrong_class);
}

TEST(DeviceClasses, AreTenThousandAtMostAndAThousandPatterns) {
  std::vector<DeviceClass> rows(kMaxDeviceClasses, {"a", 1});
  EXPECT_EQ(ProblemOf(rows), "");
  for (size_t i = 0; i < kMaxDeviceGlobs; ++i) rows[i].device = "a?";
  EXPECT_EQ(ProblemOf(rows), "");
  rows.back().device = "*";
  EXPECT_EQ(ProblemOf(rows), "more than 1024 registered devices with * or ?");
  rows.assign(kMaxDeviceClasses + 1, {"a", 1});
  EXPECT_EQ(ProblemOf(rows), "more than 10000 registered devices");
}

TEST(DeviceClasses, TheFirstRowThatMatchesDecides) {
  const DeviceClasses classes(
      {{"pump-1", 2}, {"pump-*", 3}, {"pump-2", 1}, {"*-2", 4}, {"pump-1", 4}, {"ca?", 1}});
  EXPECT_EQ(classes.Of("pump-1"), 2);
  EXPECT_EQ(classes.Of("pump-2"), 3);
  EXPECT_EQ(classes.Of("x-2"), 4);
  EXPECT_EQ(classes.Of("cam"), 1);
  EXPECT_EQ(classes.Of("came"), 0);
  EXPECT_EQ(classes.Of(""), 0);
  EXPECT_EQ(DeviceClasses({}).Of("a"), 0);
}

}  // namespace
}  // namespace seganet
