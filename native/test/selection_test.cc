#include "core/queue/selection.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

#include "test/support.h"

namespace seganet {
namespace {

constexpr int64_t kSecond = 1'000'000;

template <typename... C>
constexpr ClassMask Mask(C... classes) {
  return (MaskOf(static_cast<uint8_t>(classes)) | ...);
}

using Shares = std::array<uint64_t, kClasses + 1>;

class SelectionTest : public testing::Test {
 protected:
  // Bytes by class of the next `turns` batches, when these classes always have something.
  Shares Run(ClassMask waiting, int turns, int64_t waited_us = 0) {
    constexpr size_t bytes = 1000;
    Shares shares{};
    for (int i = 0; i < turns; ++i) {
      const uint8_t c = selection_.Best(waiting);
      selection_.Pay(c, bytes, waited_us);
      shares[c] += bytes;
    }
    return shares;
  }
  // The next `turns` classes.
  std::string Order(ClassMask waiting, int turns) {
    std::string order;
    for (int i = 0; i < turns; ++i) {
      const uint8_t c = selection_.Best(waiting);
      selection_.Pay(c, 1000, 0);
      order += std::to_string(c);
    }
    return order;
  }

  Selection selection_{SelectionOptions{}};
};

TEST_F(SelectionTest, NothingWaits) { EXPECT_EQ(selection_.Best(0), 0); }

TEST_F(SelectionTest, ClassOneGoesFirstHoweverMuchItSends) {
  EXPECT_EQ(Order(kAllClasses, 1000), std::string(1000, '1'));
  EXPECT_EQ(selection_.Best(kAllClasses & ~Mask(kCritical)), kHigh);
}

TEST_F(SelectionTest, ToLookTakesNobodysTurn) {
  for (int i = 0; i < 100; ++i) EXPECT_EQ(selection_.Best(Mask(kHigh, kBulk)), kHigh);
}

TEST_F(SelectionTest, EqualPassesGoByUrgency) {
  EXPECT_EQ(Order(Mask(kHigh, kNormal, kBulk), 3), "234");
}

TEST_F(SelectionTest, BytesAreSharedByWeightWhateverTheSizesOfTheBatches) {
  test::Random random;
  Shares bytes{};
  uint64_t all = 0;
  for (int i = 0; i < 20'000; ++i) {
    const uint8_t c = selection_.Best(Mask(kHigh, kNormal, kBulk));
    // The more urgent the smaller, as it is.
    const size_t size = c == kHigh ? random.In<size_t>(1, 300) : random.In<size_t>(1, 65'536);
    selection_.Pay(c, size, 0);
    bytes[c] += size;
    all += size;
  }
  const auto share = [&](uint8_t c) {
    return static_cast<double>(bytes[c]) / static_cast<double>(all);
  };
  EXPECT_NEAR(share(kHigh), 8.0 / 13, 0.02);
  EXPECT_NEAR(share(kNormal), 4.0 / 13, 0.02);
  EXPECT_NEAR(share(kBulk), 1.0 / 13, 0.02);
}

TEST_F(SelectionTest, WhatAClassLeavesTheOthersShare) {
  const Shares bytes = Run(Mask(kNormal, kBulk), 500);
  EXPECT_EQ(bytes[kNormal], 400'000u);
  EXPECT_EQ(bytes[kBulk], 100'000u);
}

TEST_F(SelectionTest, AClassThatWasIdleHasSavedNoCredit) {
  Run(Mask(kBulk), 1000);
  const Shares bytes = Run(Mask(kHigh, kBulk), 90);
  EXPECT_NEAR(static_cast<double>(bytes[kHigh]), 80'000, 1000);
  Run(Mask(kHigh), 1000);
  // And has no debt: what it sent alone, it sent for nothing.
  EXPECT_NE(Order(Mask(kHigh, kBulk), 4).find('2'), std::string::npos);
}

TEST_F(SelectionTest, NoClassStarvesAndTheLargestBatchWaitsForItsShareAlone) {
  SelectionOptions options;
  options.weights[kHigh] = kMaxWeight;
  options.weights[kBulk] = 1;
  Selection selection(options);
  selection.Pay(kBulk, kMaxBatchBytes, 0);
  uint64_t before = 0;
  while (selection.Best(Mask(kHigh, kBulk)) == kHigh) {
    selection.Pay(kHigh, kMaxBatchBytes, 0);
    ASSERT_LE(++before, kMaxWeight + 1);
  }
  EXPECT_GE(before, kMaxWeight);
}

// Class 4 that has waited counts as class 3, class 3 as class 2, and class 2 as itself.
TEST_F(SelectionTest, WaitingRaisesAClassByOneStep) {
  Shares bytes = Run(Mask(kHigh, kNormal, kBulk), 2000, 5 * kSecond);
  EXPECT_NEAR(static_cast<double>(bytes[kBulk]), 2e6 / 13, 2000) << "not yet";
  bytes = Run(Mask(kHigh, kNormal, kBulk), 2000, 5 * kSecond + 1);
  EXPECT_NEAR(static_cast<double>(bytes[kHigh]), 2e6 * 8 / 20, 2000);
  EXPECT_NEAR(static_cast<double>(bytes[kNormal]), 2e6 * 8 / 20, 2000);
  EXPECT_NEAR(static_cast<double>(bytes[kBulk]), 2e6 * 4 / 20, 2000);
}

TEST_F(SelectionTest, WaitingNeverLowersAndNeverRaisesAboveClassTwo) {
  SelectionOptions options;
  options.weights[kHigh] = 2;
  options.weights[kNormal] = 10;
  options.weights[kBulk] = 1;
  Selection selection(options);
  Shares bytes{};
  for (int i = 0; i < 1400; ++i) {
    const uint8_t c = selection.Best(Mask(kHigh, kNormal, kBulk));
    selection.Pay(c, 1000, 3600 * kSecond);
    bytes[c] += 1000;
  }
  EXPECT_NEAR(static_cast<double>(bytes[kHigh]), 200'000, 2000);
  EXPECT_NEAR(static_cast<double>(bytes[kNormal]), 1'000'000, 2000);
  EXPECT_NEAR(static_cast<double>(bytes[kBulk]), 200'000, 2000);
}

TEST_F(SelectionTest, AgingCanBeOff) {
  SelectionOptions options;
  options.aging_us = 0;
  Selection selection(options);
  selection.Pay(kBulk, 1000, INT64_MAX);
  int others = 0;
  for (; selection.Best(Mask(kNormal, kBulk)) == kNormal; ++others) selection.Pay(kNormal, 1000, 0);
  EXPECT_EQ(others, 5) << "a quarter each, and the tie";
}

}  // namespace
}  // namespace seganet
