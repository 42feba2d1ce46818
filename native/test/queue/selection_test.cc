#include "core/queue/selection.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

#include "test/support/support.h"

namespace seganet {
namespace {

template <typename... C>
constexpr ClassMask Mask(C... classes) {
  return (MaskOf(static_cast<uint8_t>(classes)) | ...);
}

using Shares = std::array<uint64_t, kClasses + 1>;

class SelectionTest : public testing::Test {
 protected:
  // Returns the bytes by class of the next `turns` batches, when these classes always have data.
  Shares Run(ClassMask waiting, int turns) {
    constexpr size_t bytes = 1000;
    Shares shares{};
    for (int i = 0; i < turns; ++i) {
      const uint8_t c = selection_.Best(waiting);
      selection_.Pay(c, bytes, waiting);
      shares[c] += bytes;
    }
    return shares;
  }
  // The next `turns` classes.
  std::string Order(ClassMask waiting, int turns) {
    std::string order;
    for (int i = 0; i < turns; ++i) {
      const uint8_t c = selection_.Best(waiting);
      selection_.Pay(c, 1000, waiting);
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
    // The more urgent class is the smaller one here.
    const size_t size = c == kHigh ? random.In<size_t>(1, 300) : random.In<size_t>(1, 65'536);
    selection_.Pay(c, size, Mask(kHigh, kNormal, kBulk));
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
  // It has no debt either: bytes that it sent alone are free.
  EXPECT_NE(Order(Mask(kHigh, kBulk), 4).find('2'), std::string::npos);
}

TEST_F(SelectionTest, NoClassStarvesAndTheLargestBatchWaitsForItsShareAlone) {
  SelectionOptions options;
  options.weights[kHigh] = kMaxWeight;
  options.weights[kBulk] = 1;
  Selection selection(options);
  selection.Pay(kBulk, kMaxBatchBytes, Mask(kHigh, kBulk));
  uint64_t before = 0;
  while (selection.Best(Mask(kHigh, kBulk)) == kHigh) {
    selection.Pay(kHigh, kMaxBatchBytes, Mask(kHigh, kBulk));
    ASSERT_LE(++before, kMaxWeight + 1);
  }
  EXPECT_GE(before, kMaxWeight);
}

// A class that cannot take its turn because its session has no room does not lose it.
TEST_F(SelectionTest, AClassThatWaitsAndIsPassedOverKeepsItsPlace) {
  for (int i = 0; i < 100; ++i) selection_.Pay(kNormal, 1000, Mask(kHigh, kNormal));
  EXPECT_EQ(Order(Mask(kHigh, kNormal), 200), std::string(200, '2'));
}

TEST_F(SelectionTest, AClassIsAheadWhenItsLeadIsUsedUp) {
  const ClassMask both = Mask(kHigh, kBulk);
  selection_.Pay(kBulk, kLeadBytes, both);
  EXPECT_EQ(selection_.Ahead(Mask(kBulk), Mask(kHigh)), 0);
  selection_.Pay(kBulk, 1, both);
  EXPECT_EQ(selection_.Ahead(Mask(kBulk), Mask(kHigh)), Mask(kBulk));
  EXPECT_EQ(selection_.Ahead(Mask(kBulk), Mask(kHigh, kNormal)), Mask(kBulk));
  EXPECT_EQ(selection_.Ahead(Mask(kBulk), 0), 0) << "nobody waits";
  EXPECT_EQ(selection_.Ahead(Mask(kHigh), Mask(kBulk)), 0) << "it is behind";
  // Eight bytes of class 2 are one of class 4.
  selection_.Pay(kHigh, 8, both);
  EXPECT_EQ(selection_.Ahead(Mask(kBulk), Mask(kHigh)), 0);
}

TEST_F(SelectionTest, ClassOneIsNeverAheadAndNobodyIsAheadOfIt) {
  for (int i = 0; i < 100; ++i) selection_.Pay(kCritical, kLeadBytes, kAllClasses);
  EXPECT_EQ(selection_.Ahead(kAllClasses, kAllClasses), 0);
  selection_.Pay(kBulk, 2 * kLeadBytes, Mask(kCritical, kBulk));
  EXPECT_EQ(selection_.Ahead(kAllClasses, Mask(kCritical)), 0);
}

TEST_F(SelectionTest, OneThatWasIdleIsNotWaitedFor) {
  for (int i = 0; i < 100; ++i) selection_.Pay(kBulk, kLeadBytes, Mask(kBulk));
  EXPECT_EQ(selection_.Ahead(Mask(kBulk), Mask(kHigh)), 0);
}

}  // namespace
}  // namespace seganet
