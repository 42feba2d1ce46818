#include "core/runtime/load_meter.h"

#include <gtest/gtest.h>

#include <ctime>

namespace seganet {
namespace {

constexpr int64_t kStartUs = 5'000'000;

TEST(LoadMeter, CountsFromTheStartOfTheThread) {
  LoadMeter meter;
  meter.Begin(kStartUs);
  EXPECT_EQ(meter.measured_us(), kStartUs) << "a thread may hang before its first measurement";
  EXPECT_EQ(meter.connections(), 0u);
  EXPECT_EQ(meter.busy(), 0.0);
}

TEST(LoadMeter, MeasuresTheProcessorTimeOfASecond) {
  LoadMeter meter;
  meter.Begin(kStartUs);
  meter.Measure(kStartUs, 3);
  timespec start{}, now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
  const auto used_us = [&] {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (now.tv_sec - start.tv_sec) * 1'000'000 + (now.tv_nsec - start.tv_nsec) / 1000;
  };
  while (used_us() < 20'000) {
  }
  meter.Measure(kStartUs + 500'000, 4);
  EXPECT_EQ(meter.connections(), 4u);
  EXPECT_EQ(meter.measured_us(), kStartUs + 500'000);
  EXPECT_EQ(meter.busy(), 0.0) << "a second has not passed";
  meter.Measure(kStartUs + 1'000'000, 4);
  EXPECT_GE(meter.busy(), 0.02);
  EXPECT_LE(meter.busy(), 1.0);
}

}  // namespace
}  // namespace seganet
