#include "core/loop/urgency.h"

#include <gtest/gtest.h>

namespace seganet {
namespace {

// Counts records, of which every n-th is of class 1, as UrgentAgents does. Returns the number of
// records after which the agent was urgent.
int UrgentAfter(int records, int every_nth) {
  Urgency urgency;
  int urgent = 0;
  for (int i = 1; i <= records; ++i) {
    urgency.Count(i % every_nth == 0);
    urgency.is_listed = urgency.is_urgent();
    if (urgency.is_listed) ++urgent;
  }
  return urgent;
}

TEST(Urgency, BeginsWithAFirstRecordOfClass1) {
  EXPECT_EQ(UrgentAfter(1, 1), 1);
  EXPECT_EQ(UrgentAfter(100, 1), 100);
}

TEST(Urgency, HoldsForAgentsThatSendClass1OftenEnough) { EXPECT_GT(UrgentAfter(1000, 2), 900); }

TEST(Urgency, NeverHoldsForAnAgentThatSeldomSendsClass1) {
  EXPECT_EQ(UrgentAfter(1000, 20), 0);
  EXPECT_EQ(UrgentAfter(1000, 4), 0);
}

TEST(Urgency, EndsAfterSomeOtherRecords) {
  Urgency urgency;
  for (int i = 0; i < 100; ++i) urgency.Count(true);
  urgency.is_listed = true;
  for (int i = 1; i < Urgency::kMost; ++i) {
    urgency.Count(false);
    EXPECT_TRUE(urgency.is_urgent()) << i;
  }
  urgency.Count(false);
  EXPECT_FALSE(urgency.is_urgent());
  urgency.is_listed = false;
  urgency.Count(true);
  EXPECT_FALSE(urgency.is_urgent()) << "it needs two of them now";
  urgency.Count(true);
  EXPECT_TRUE(urgency.is_urgent());
}

TEST(Urgency, IsPresumedForARegisteredDevice) {
  Urgency urgency;
  urgency.Presume();
  EXPECT_TRUE(urgency.is_urgent());
}

}  // namespace
}  // namespace seganet
