#include "core/devices/session_saves.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace seganet {
namespace {

using Names = std::vector<std::string>;
using Offer = SessionSaves::Offer;

class SessionSavesTest : public testing::Test {
 protected:
  SessionSavesTest() { saves_.SetActive(true); }
  // Takes at most `room` of the sessions that are due.
  Names Take(size_t room = SIZE_MAX, int64_t now_us = 0) {
    Names taken;
    saves_.OfferAll(now_us, [&](const SessionSaves::Due& due) {
      if (taken.size() == room) return Offer::kNoRoom;
      taken.push_back(due.device);
      return Offer::kTaken;
    });
    return taken;
  }
  SessionSaves saves_;
};

TEST_F(SessionSavesTest, SavesManyChangesOfADeviceOnce) {
  const uint64_t first = saves_.Changed("a");
  saves_.Changed("b");
  const uint64_t last = saves_.Changed("a");
  EXPECT_LT(first, last);
  EXPECT_EQ(Take(), (Names{"a", "b"}));
  EXPECT_EQ(Take(), Names());
}

TEST_F(SessionSavesTest, ATicketIsSavedWithAllBeforeIt) {
  const uint64_t first = saves_.Changed("a");
  const uint64_t second = saves_.Changed("b");
  const uint64_t third = saves_.Changed("a");
  EXPECT_EQ(Take(1), Names{"a"});
  EXPECT_FALSE(saves_.IsSaved(first));
  saves_.Committed(1);
  EXPECT_TRUE(saves_.IsSaved(first));
  EXPECT_FALSE(saves_.IsSaved(second));
  EXPECT_FALSE(saves_.IsSaved(third)) << "it is on disk, but only the first open ticket is known";
  EXPECT_EQ(Take(), Names{"b"});
  saves_.Committed(1);
  EXPECT_TRUE(saves_.IsSaved(third));
}

TEST_F(SessionSavesTest, AChangeDuringTheWriteIsSavedByTheNextOne) {
  saves_.Changed("a");
  EXPECT_EQ(Take(), Names{"a"});
  const uint64_t later = saves_.Await("a");
  saves_.Committed(1);
  EXPECT_FALSE(saves_.IsSaved(later));
  EXPECT_EQ(Take(), Names{"a"});
  EXPECT_TRUE(saves_.Committed(1));
  EXPECT_TRUE(saves_.IsSaved(later));
}

TEST_F(SessionSavesTest, AnUnsavedSessionThatEndsIsNotWritten) {
  saves_.Await("a");
  saves_.Touch("b");
  saves_.Ended("a", false);
  saves_.Ended("b", false);
  EXPECT_EQ(Take(SIZE_MAX, kNever), Names());
}

TEST_F(SessionSavesTest, TheDeletionOfASavedSessionOutlivesAnotherSessionOfItsDevice) {
  saves_.Ended("a", true);
  saves_.Touch("a");
  saves_.Ended("a", false);
  EXPECT_EQ(Take(), Names{"a"});
}

TEST_F(SessionSavesTest, ATouchedDeviceIsWrittenLate) {
  const int64_t now = MonotonicUs();
  saves_.Touch("a");
  EXPECT_EQ(Take(SIZE_MAX, now), Names());
  saves_.Touch("b");
  const Names late = Take(SIZE_MAX, now + 2 * SessionSaves::kTouchUs);
  EXPECT_EQ(late.size(), 2u);
  EXPECT_EQ(Take(SIZE_MAX, now + 4 * SessionSaves::kTouchUs), Names());
}

TEST_F(SessionSavesTest, NothingWaitsWhereSessionsAreNotSaved) {
  SessionSaves off;
  EXPECT_EQ(off.Await("a"), 0u);
  EXPECT_TRUE(off.IsSaved(7));
  EXPECT_TRUE(off.awaiting().empty());
  const uint64_t ticket = saves_.Await("a");
  EXPECT_FALSE(saves_.IsSaved(ticket));
  saves_.SetActive(false);
  EXPECT_TRUE(saves_.IsSaved(ticket));
  EXPECT_EQ(saves_.waiting(), 0u);
}

TEST_F(SessionSavesTest, TouchedDevicesMoveToAnotherWorker) {
  saves_.Touch("a");
  saves_.Touch("b");
  EXPECT_EQ(saves_.TakeTouched([](std::string_view device) { return device == "a"; }), Names{"a"});
  EXPECT_EQ(Take(SIZE_MAX, kNever), Names{"b"});
}

}  // namespace
}  // namespace seganet
