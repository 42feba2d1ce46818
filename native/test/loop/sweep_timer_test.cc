#include "core/loop/sweep_timer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <thread>

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

// A peer's bytes are there, and its silence is judged in the sweep.
TEST_F(SweepTimerTest, ALoopThatStoodStillHandlesItsEventsFirst) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  struct Peer {
    uint32_t* sweeps;
    uint32_t before = UINT32_MAX;  // sweeps before its bytes were read
  } peer{&sweeps_};
  uv_poll_t poll;
  ASSERT_EQ(uv_poll_init(&loop_, &poll, ends[0]), 0);
  poll.data = &peer;
  uv_poll_start(&poll, UV_READABLE, [](uv_poll_t* handle, int, int) {
    auto* read = static_cast<Peer*>(handle->data);
    read->before = *read->sweeps;
    uv_poll_stop(handle);
  });
  // Stands still in a timer, after the loop has looked for events.
  uv_timer_t standstill;
  uv_timer_init(&loop_, &standstill);
  standstill.data = &ends[1];
  uv_timer_start(
      &standstill,
      [](uv_timer_t* timer) {
        EXPECT_EQ(write(*static_cast<int*>(timer->data), "x", 1), 1);
        std::this_thread::sleep_for(
            std::chrono::milliseconds(SweepTimer::kBusyMs + SweepTimer::kLateUs / 1000 + 50));
        uv_update_time(timer->loop);
      },
      1, 0);
  Sweep(1);
  EXPECT_EQ(peer.before, 0u);
  Sweep(1);
  EXPECT_EQ(timer_.pace_ms(), SweepTimer::kBusyMs);
  uv_close(reinterpret_cast<uv_handle_t*>(&poll), nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&standstill), nullptr);
  uv_run(&loop_, UV_RUN_NOWAIT);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace seganet
