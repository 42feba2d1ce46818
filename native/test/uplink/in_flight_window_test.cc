#include "core/uplink/in_flight_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "test/support/support.h"

namespace seganet {
namespace {

Flight Of(bool is_urgent, uint64_t batch = 1) {
  Flight flight;
  flight.batch = batch;
  flight.is_urgent = is_urgent;
  return flight;
}

int Fill(InFlightWindow* flights, bool is_urgent) {
  int count = 0;
  for (; flights->Room(is_urgent) > 0; ++count) flights->Open(Of(is_urgent));
  return count;
}

TEST(InFlightWindowTest, IdentifiersRotate) {
  InFlightWindow flights(3, 0);
  std::vector<uint16_t> ids;
  for (int i = 0; i < 7; ++i) {
    ids.push_back(flights.Open(Of(false)));
    flights.Close(ids.back());
  }
  EXPECT_EQ(ids, (std::vector<uint16_t>{1, 2, 3, 1, 2, 3, 1}));
}

TEST(InFlightWindowTest, AnIdentifierIsNeverGivenOutTwice) {
  InFlightWindow flights(2, 0);
  EXPECT_EQ(flights.Open(Of(false)), 1);
  EXPECT_EQ(flights.Open(Of(false)), 2);
  EXPECT_EQ(flights.Room(true), 0u);
  flights.Close(2);
  EXPECT_EQ(flights.Open(Of(false)), 2);
  EXPECT_NE(flights.Find(1), nullptr);
}

TEST(InFlightWindowTest, FindsOnlyPacketsInFlight) {
  InFlightWindow flights(2, 0);
  const uint16_t id = flights.Open(Of(true, 77));
  ASSERT_NE(flights.Find(id), nullptr);
  EXPECT_EQ(flights.Find(id)->batch, 77u);
  for (const uint16_t wrong : {0, 2, 3, 65535}) EXPECT_EQ(flights.Find(wrong), nullptr) << wrong;
  flights.Close(id);
  EXPECT_EQ(flights.Find(id), nullptr);
}

TEST(InFlightWindowTest, TheOthersFillTheWindowButForTheReserve) {
  struct Case {
    uint32_t window, reserved;
    int others;
  };
  for (const auto& [window, reserved, others] : std::vector<Case>{{32, 8, 24},
                                                                  {32, 1, 31},
                                                                  {32, 31, 1},
                                                                  {32, 32, 1},
                                                                  {32, 1024, 1},
                                                                  {2, 1, 1},
                                                                  {1, 0, 1},
                                                                  {1024, 0, 1024}}) {
    InFlightWindow flights(window, reserved);
    EXPECT_EQ(Fill(&flights, false), others) << window << " " << reserved;
    EXPECT_EQ(Fill(&flights, true), static_cast<int>(window) - others);
  }
}

TEST(InFlightWindowTest, Class1MayFillAll) {
  InFlightWindow flights(4, 1);
  EXPECT_EQ(Fill(&flights, true), 4);
  EXPECT_EQ(flights.Room(false), 0u);
}

TEST(InFlightWindowTest, AWindowOfOneHasNoReserve) {
  InFlightWindow flights(1, 1);
  const uint16_t id = flights.Open(Of(false));
  EXPECT_EQ(flights.Room(true), 0u);
  flights.Close(id);
  EXPECT_EQ(flights.Open(Of(true)), id);
  EXPECT_EQ(flights.Room(false), 0u);
}

TEST(InFlightWindowTest, AnAcknowledgementOfClass1MakesNoPlaceForOthers) {
  InFlightWindow flights(4, 1);
  Fill(&flights, false);
  const uint16_t alarm = flights.Open(Of(true));
  flights.Close(alarm);
  EXPECT_EQ(flights.Room(false), 0u);
  EXPECT_EQ(flights.Room(true), 1u);
  flights.Close(1);
  EXPECT_EQ(flights.Room(false), 1u);
  EXPECT_EQ(flights.Room(true), 2u);
}

TEST(InFlightWindowTest, TheOldestIsTheOneSentFirstWhateverItsIdentifier) {
  InFlightWindow flights(3, 0);
  EXPECT_EQ(flights.Oldest(), nullptr);
  const uint16_t a = flights.Open(Of(false, 10));
  flights.Open(Of(false, 11));
  flights.Close(a);
  flights.Open(Of(false, 12));
  flights.Open(Of(false, 13));  // takes the identifier of the first
  ASSERT_NE(flights.Oldest(), nullptr);
  EXPECT_EQ(flights.Oldest()->batch, 11u);
}

TEST(InFlightWindowTest, APacketIsPassedWhenALaterOneWasAcknowledged) {
  InFlightWindow flights(3, 0);
  const uint16_t a = flights.Open(Of(false)), b = flights.Open(Of(true)),
                 c = flights.Open(Of(false));
  flights.Close(a);
  EXPECT_FALSE(flights.IsPassed(*flights.Find(b)));
  flights.Close(c);
  EXPECT_TRUE(flights.IsPassed(*flights.Find(b)));
  EXPECT_FALSE(flights.IsPassed(*flights.Find(flights.Open(Of(false)))));
}

TEST(InFlightWindowTest, TheBrokersLimitHoldsFromTheNextPacketOn) {
  InFlightWindow flights(8, 2);
  Fill(&flights, false);
  flights.SetLimit(4, 1);
  EXPECT_EQ(flights.Room(true), 0u);
  EXPECT_EQ(flights.Room(false), 0u);
  for (uint16_t id = 1; id <= 3; ++id) flights.Close(id);
  EXPECT_EQ(flights.Room(true), 1u);
  EXPECT_EQ(flights.Room(false), 0u);
  flights.SetLimit(100, 0);
  EXPECT_EQ(flights.Room(false), 5u);
}

TEST(InFlightWindowTest, ACeilingLimitsWhatIsInFlightAlone) {
  InFlightWindow flights(8, 0);
  flights.Wait(false, false);
  flights.Wait(false, false);
  flights.SetCeiling(3, 1);
  EXPECT_EQ(flights.Room(true), 3u);
  EXPECT_EQ(flights.Room(false), 2u);
  flights.SetCeiling(InFlightWindow::kNoCeiling, 0);
  EXPECT_EQ(flights.Room(false), 6u);
}

TEST(InFlightWindowTest, ARefusedPacketKeepsAPlaceOfItsKind) {
  InFlightWindow flights(4, 1);
  flights.Wait(false, true);
  EXPECT_EQ(flights.Room(true), 3u);
  EXPECT_EQ(flights.Room(false), 2u);
  flights.Wait(true, false);
  EXPECT_EQ(flights.Room(true), 2u);
  EXPECT_EQ(flights.Room(false), 2u);
  EXPECT_EQ(flights.backlog(), 1u);
  flights.EndWait(false, true);
  flights.EndWait(true, false);
  EXPECT_EQ(flights.Room(false), 3u);
  EXPECT_EQ(flights.waiting() + flights.backlog(), 0u);
}

TEST(InFlightWindowTest, AbandonedPacketsKeepTheirPlacesUntilTheyAreAcknowledged) {
  InFlightWindow flights(2, 0);
  Flight old = Of(false);
  old.is_backlog = true;
  const uint16_t id = flights.Open(old);
  flights.Wait(false, true);
  flights.Abandon();
  EXPECT_EQ(flights.backlog(), 0u);
  EXPECT_EQ(flights.Room(false), 1u);
  flights.Close(id);
  EXPECT_EQ(flights.backlog(), 0u);
  EXPECT_EQ(flights.Room(false), 2u);
}

TEST(InFlightWindowTest, TheNextConnectionHasAllPlacesOfItsLimit) {
  InFlightWindow flights(8, 0);
  flights.SetLimit(3, 1);
  Fill(&flights, false);
  flights.Close(2);
  flights.Wait(false, false);
  flights.Reset();
  EXPECT_EQ(flights.open() + flights.waiting(), 0u);
  EXPECT_TRUE(flights.List().empty());
  EXPECT_EQ(flights.Open(Of(false)), 1);
  EXPECT_FALSE(flights.IsPassed(*flights.Find(1)));
  EXPECT_EQ(flights.Room(false), 1u);
}

TEST(InFlightWindowTest, TimesFollowTheClockOfTheOtherUser) {
  InFlightWindow flights(2, 0);
  Flight flight = Of(false);
  flight.sent_us = 5'000'000;
  const uint16_t id = flights.Open(flight);
  flights.ShiftTimes(-4'000'000);
  EXPECT_EQ(flights.Find(id)->sent_us, 1'000'000);
  EXPECT_EQ(flights.OldestId(), id);
}

// A slow model of InFlightWindow: its packets are kept in the order of sending and searched from
// the front.
struct SlowWindow {
  uint32_t Room(bool is_urgent) const {
    const auto all = static_cast<uint32_t>(list.size());
    const auto others = static_cast<uint32_t>(
        std::count_if(list.begin(), list.end(), [](auto& e) { return !e.flight.is_urgent; }));
    const uint32_t places = std::max(1u, window - std::min(window, reserved));
    return is_urgent ? window - all : std::min(window - all, places - std::min(places, others));
  }
  uint32_t window, reserved;
  std::vector<InFlightWindow::Entry> list;
  uint64_t acknowledged = 0;
};

void ExpectSame(const InFlightWindow& flights, const SlowWindow& slow) {
  ASSERT_EQ(flights.open(), slow.list.size());
  for (const bool is_urgent : {false, true}) {
    ASSERT_EQ(flights.Room(is_urgent), slow.Room(is_urgent));
  }
  const auto list = flights.List();
  ASSERT_EQ(list.size(), slow.list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    ASSERT_EQ(list[i].id, slow.list[i].id);
    ASSERT_EQ(list[i].flight.batch, slow.list[i].flight.batch);
    ASSERT_EQ(flights.IsPassed(list[i].flight), list[i].flight.batch < slow.acknowledged);
  }
  const Flight* oldest = flights.Oldest();
  ASSERT_EQ(oldest == nullptr, list.empty());
  if (oldest != nullptr) {
    ASSERT_EQ(oldest->batch, list.front().flight.batch);
  }
}

TEST(InFlightWindowTest, EqualsASlowModel) {
  test::Random random;
  for (int round = 0; round < 40; ++round) {
    const auto window = random.In<uint32_t>(1, random.OneIn(4) ? 60 : 6);
    SlowWindow slow{window, random.In<uint32_t>(0, window + 1), {}};
    InFlightWindow flights(slow.window, slow.reserved);
    for (uint64_t step = 1; step <= 400; ++step) {
      const bool is_urgent = random.OneIn(3);
      if (flights.Room(is_urgent) > 0 && random.OneIn(2)) {
        const uint16_t id = flights.Open(Of(is_urgent, step));
        for (const auto& entry : slow.list) ASSERT_NE(entry.id, id);
        slow.list.push_back({id, Of(is_urgent, step)});
      } else if (!slow.list.empty()) {
        const auto at = slow.list.begin() + random.In<ptrdiff_t>(0, std::ssize(slow.list) - 1);
        ASSERT_NE(flights.Find(at->id), nullptr);
        flights.Close(at->id);
        ASSERT_EQ(flights.Find(at->id), nullptr);
        slow.acknowledged = std::max(slow.acknowledged, at->flight.batch);
        slow.list.erase(at);
      }
      ASSERT_NO_FATAL_FAILURE(ExpectSame(flights, slow));
    }
  }
}

}  // namespace
}  // namespace seganet
