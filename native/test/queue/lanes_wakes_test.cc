// Who wakes the reader of the log and the session: both sleep until they are woken, as the store's
// and the uplink's threads do, and every run ends in silence.
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "test/support/lanes_save_support.h"

namespace seganet {
namespace {

using test::kMs;
using test::kSecond;

class LanesWakesTest : public test::LanesWithLog {
 protected:
  int64_t Now() override { return now_us_; }

  // The store's thread: a turn saves what is due and reads what is wanted. Nothing but a wake-up,
  // or a save that is due, leads to a turn.
  void RunStore() {
    while (wakes_ != seen_wakes_ || lanes_->NextSave(now_us_) <= now_us_) {
      seen_wakes_ = wakes_;
      while (const uint64_t ticket = Seal(now_us_)) {
        if (disk_fails_) {
          lanes_->Failed(ticket);
          ledger_.Failed(ticket);
          return;
        }
        rows_[++row_] = chunk_;
        Commit(ticket, row_);
      }
      for (int64_t row : ledger_.TakeFrees(1000)) rows_.erase(row);
      ledger_.Freed();
      while (ReadOne()) ++reads_;
    }
  }

  bool ReadOne() {
    for (uint8_t c = kCritical; c <= kClasses; ++c) {
      for (const char* node : {"one", "two"}) {
        WantedRow wanted;
        if (lanes_->WantsBacklog(c) && ledger_.Wants(node, c, &wanted)) return Read(wanted);
      }
    }
    return false;
  }

  bool Read(const WantedRow& wanted) {
    auto it = rows_.upper_bound(wanted.after);
    while (it != rows_.end() &&
           (it->second.node != wanted.node || it->second.record_class != wanted.record_class)) {
      ++it;
    }
    if (it == rows_.end() || it->first > wanted.up_to) {
      ledger_.Missing(wanted);
      return true;
    }
    ChunkHead head;
    std::vector<ChunkEntry> entries;
    EXPECT_EQ(ReadChunk(it->second.bytes, &head, &entries), ChunkError::kNone);
    std::vector<uint32_t> counts;
    for (const ChunkEntry& entry : entries) counts.push_back(entry.record_count);
    uint64_t ticket = 0;
    std::vector<bool> needed;
    EXPECT_TRUE(ledger_.Loaded(wanted, it->first, counts, &ticket, &needed));
    std::vector<BatchPtr> batches;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (!needed[i]) continue;
      batches.push_back(BatchOf(entries[i], head.record_class, head.epoch));
      batches.back()->stage = wanted.node == "one" ? 1 : 2;
      batches.back()->chunk = ticket;
      batches.back()->place = static_cast<uint16_t>(i);
    }
    if (!batches.empty()) lanes_->PushBacklog(std::move(batches));
    return true;
  }

  // The session's thread: takes what its window has room for, after a ring, after an acknowledgment
  // if the window was full, and when the lanes said that a class must be checked again.
  void RunSession() {
    if (!connected_) return;
    const bool is_due = retry_at_us_ <= now_us_;
    if (bell_.rings() == seen_rings_ && !is_due && !pump_) return;
    seen_rings_ = bell_.rings();
    bell_.Answer();
    pump_ = false;
    retry_at_us_ = kNever;
    while (in_flight_.size() < window_) {
      uint64_t id = Take();
      if (id == 0) id = Take(/*backlog=*/true);
      if (id == 0) break;
      in_flight_.push_back(id);
    }
    const int64_t wait_us = lanes_->RetryUs(outlet_, now_us_);
    if (wait_us >= 0) retry_at_us_ = now_us_ + std::max<int64_t>(wait_us, kMs);
  }

  void Acknowledge() {
    if (in_flight_.empty()) return;
    pump_ |= in_flight_.size() >= window_;
    ASSERT_TRUE(Release(in_flight_.front()));
    in_flight_.pop_front();
  }

  void Up(bool up) {
    connected_ = up;
    Connect(up);
    if (!up) {  // what is in flight goes back
      Reattach();
      in_flight_.clear();
    }
  }

  void Run() {
    RunStore();
    RunSession();
  }

  // Nothing arrives anymore, and the broker acknowledges everything.
  void ExpectToDrainInSilence() {
    disk_fails_ = false;
    if (!connected_) Up(true);
    for (int ms = 0; ms < 600'000 && Held() > 0; ms += 50) {
      Run();
      const size_t open = in_flight_.size();
      for (size_t i = 0; i < open; ++i) {
        Acknowledge();
        Run();
      }
      now_us_ += 50 * kMs;
      if (ms % 1000 == 0) lanes_->Sweep(now_us_);
    }
    EXPECT_EQ(Held(), 0u) << "records wait, and nobody wakes up";
    EXPECT_EQ(lanes_->WaitingAt(outlet_, now_us_), 0u);
    ExpectThatCountersReconcile();
  }

  int64_t now_us_ = 1000 * kSecond;
  int64_t row_ = 0;
  std::map<int64_t, SealedChunk> rows_;
  bool disk_fails_ = false;
  bool connected_ = false;
  bool pump_ = false;
  size_t window_ = 4;
  std::deque<uint64_t> in_flight_;
  int64_t retry_at_us_ = kNever;
  int seen_wakes_ = 0;
  int seen_rings_ = 0;
  int reads_ = 0;
};

// A burst over a slow link: what was not sent within kStaleUs leaves memory while its session is
// up, and no other record comes.
TEST_F(LanesWakesTest, RecordsThatLeaveMemoryDuringABurstAreReadBackInSilence) {
  Use(Context());
  Up(true);
  for (int i = 0; i < 200; ++i) Push();
  for (int ms = 0; ms < 12'000; ms += 300) {
    Run();
    const size_t open = in_flight_.size();
    for (size_t i = 0; i < open; ++i) Acknowledge();
    now_us_ += 300 * kMs;
  }
  ExpectToDrainInSilence();
  EXPECT_GT(reads_, 0) << "the link is too slow for the burst";
}

// The same when memory is short, so that the reader finds no room at first.
TEST_F(LanesWakesTest, RecordsThatLeaveACrowdedMemoryAreReadBackInSilence) {
  Use(Context());
  Up(true);
  for (int i = 0; i < 60; ++i) {
    Push(kNormal, std::string(20 << 10, 'x'));
    Run();
  }
  EXPECT_GT(ledger_.sums().backlog[kNormal], 0);
  ExpectToDrainInSilence();
}

// A slow session does not wake the reader at each record that leaves memory: what it read ahead is
// enough for a while.
TEST_F(LanesWakesTest, AnOverloadDoesNotWakeTheReaderForEachRecord) {
  Use(Context());
  Up(true);
  for (int i = 0; i < 20'000; ++i) {
    if (i % 4 == 0) Push(kNormal, std::string(200, 'x'));
    now_us_ += 5 * kMs;
    if (i % 100 == 0) Acknowledge();
    Run();
  }
  EXPECT_LT(wakes_, 2500) << "of 5,000 records";
  ExpectToDrainInSilence();
}

// What the watch of the session asks, and does when somebody was not woken.
TEST_F(LanesWakesTest, TellsWhereRecordsWaitAndWakesWhoeverCouldMoveThem) {
  Use(Context());
  Push();
  EXPECT_EQ(lanes_->WaitingAt(outlet_, now_us_), 0u) << "the session is down";
  Up(true);
  EXPECT_EQ(lanes_->WaitingAt(outlet_, now_us_), Lanes::kLive);
  now_us_ += 2 * kSecond;
  RunStore();
  now_us_ += kStaleUs;
  lanes_->Sweep(now_us_);
  EXPECT_EQ(lanes_->WaitingAt(outlet_, now_us_), Lanes::kLog);
  const int wakes = wakes_;
  const int rings = bell_.rings();
  lanes_->WakeAll(outlet_);
  EXPECT_GT(wakes_, wakes);
  EXPECT_GT(bell_.rings(), rings) << "although the last ring was never answered";
  RunStore();
  EXPECT_EQ(lanes_->WaitingAt(outlet_, now_us_), Lanes::kBacklog);
  ExpectToDrainInSilence();
}

TEST_F(LanesWakesTest, AClassThatWaitsForItsRateDoesNotCount) {
  LanesContext context = Context();
  context.limits.rate_per_s = {0, 0, 0, 1, 0};
  Use(std::move(context));
  Up(true);
  for (int i = 0; i < 3; ++i) Push();
  RunSession();
  while (!in_flight_.empty()) Acknowledge();
  EXPECT_EQ(lanes_->WaitingAt(outlet_, now_us_), 0u);
  now_us_ += 3 * kSecond;
  EXPECT_EQ(lanes_->WaitingAt(outlet_, now_us_), Lanes::kLive);
}

TEST_F(LanesWakesTest, EverythingDrainsInSilenceAfterAnyTraffic) {
  test::Random random;
  for (int run = 0; run < 150; ++run) {
    LanesContext context = Context();
    context.save.disk_first = random.OneIn(4);
    if (random.OneIn(4)) context.limits.rate_per_s = {0, 0, 0, 40, 40};
    Use(std::move(context));
    seen_wakes_ = seen_rings_ = -1;
    connected_ = false;
    in_flight_.clear();
    window_ = random.In<size_t>(1, 20);
    const size_t most = random.OneIn(2) ? 200 : 30'000;
    const int steps = random.In(10, 600);
    for (int i = 0; i < steps; ++i) {
      switch (random.In(0, 6)) {
        case 0:
        case 1:
          for (int n = random.In(1, 8); n > 0; --n) {
            if (budget_.high()) break;  // devices wait
            Push(random.In<uint8_t>(1, 4), std::string(random.In<size_t>(0, most), 'x'),
                 random.In<uint32_t>(1, 2));
          }
          break;
        case 2:
        case 3:
          Acknowledge();
          break;
        case 4:
          now_us_ += random.In<int64_t>(1, 4000) * kMs;
          lanes_->Sweep(now_us_);
          break;
        case 5:
          if (random.OneIn(8)) Up(!connected_);
          break;
        default:
          if (random.OneIn(8)) disk_fails_ = !disk_fails_;
      }
      if (random.OneIn(2)) RunSession();
      if (random.OneIn(2)) RunStore();
    }
    ExpectToDrainInSilence();
    ASSERT_FALSE(HasFailure()) << "run " << run;
    lanes_->Clear(Drop::kClosed);
  }
}

}  // namespace
}  // namespace seganet
