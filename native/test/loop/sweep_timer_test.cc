#include "core/loop/sweep_timer.h"

#include <gtest/gtest.h>

namespace seganet {
namespace {

class SweepTimerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(uv_loop_init(&loop_), 0);
    timer_.Start(&loop_);
  }

  void TearDown() override {
    timer_.Close();
    uv_run(&loop_, UV_RUN_DEFAULT);
    EXPECT_EQ(uv_loop_close(&loop_), 0);
  }

  // Runs turns of the loop until there were this many more sweeps.
  void Sweep(uint32_t more) {
    const uint32_t until = sweeps_ + more;
    while (sweeps_ < until) {
      uv_run(&loop_, UV_RUN_ONCE);
      timer_.EndTurn();
    }
  }

  // A turn of the loop with another event than a sweep.
  void Event() { timer_.EndTurn(); }

  uv_loop_t loop_{};
  bool waits_ = false;
  uint32_t sweeps_ = 0;
  SweepTimer timer_{[this] {
    ++sweeps_;
    return !waits_;
  }};
};

TEST_F(SweepTimerTest, GetsSlowAfterSomeSecondsWithoutAnEvent) {
  Sweep(SweepTimer::kStillSweeps - 1);
  EXPECT_EQ(timer_.pace_ms(), SweepTimer::kBusyMs);
  Sweep(1);
  EXPECT_EQ(timer_.pace_ms(), SweepTimer::kStillMs);
  Sweep(1);
  EXPECT_EQ(timer_.pace_ms(), SweepTimer::kStillMs);
  Event();
  EXPECT_EQ(timer_.pace_ms(), SweepTimer::kBusyMs);
}

TEST_F(SweepTimerTest, StaysFastWhileThereAreEvents) {
  for (uint32_t i = 0; i < SweepTimer::kStillSweeps + 2; ++i) {
    Sweep(1);
    Event();
  }
  EXPECT_EQ(timer_.pace_ms(), SweepTimer::kBusyMs);
}

TEST_F(SweepTimerTest, StaysFastWhileSomethingWaits) {
  waits_ = true;
  Sweep(SweepTimer::kStillSweeps + 1);
  EXPECT_EQ(timer_.pace_ms(), SweepTimer::kBusyMs);
}

}  // namespace
}  // namespace seganet
