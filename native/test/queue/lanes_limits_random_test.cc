// Selection and limits under random traffic, with a log that is read back.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "test/support/lanes_save_support.h"

namespace seganet {
namespace {

using test::kMs;

class LanesLimitsRandomTest : public test::LanesWithLog {
 protected:
  struct Session {
    Outlet* outlet = nullptr;
    ClassMask classes = 0;
    bool connected = false;
    std::vector<uint64_t> taken;
    test::CountingBell bell;
    int rings = -1;  // when it found nothing; -1 = it found something
  };

  int64_t Now() override { return now_us_; }

  LanesContext RandomContext(test::Random* random) {
    LanesContext context = Context();
    std::array<int64_t, kClasses + 1> limits{};
    for (uint8_t c = kCritical; c <= kClasses; ++c) {
      context.limits.ttl_us[c] = random->OneIn(2) ? random->In<int64_t>(1, 30'000) * kMs : 0;
      context.limits.rate_per_s[c] = random->OneIn(3) ? random->In<uint32_t>(1, 500) : 0;
      context.selection.weights[c] = random->In<uint32_t>(1, kMaxWeight);
      limits[c] = random->OneIn(2) ? random->In<int64_t>(1, 300) : 0;
    }
    aging_us_ = random->OneIn(4) ? 0 : 2000 * kMs;
    context.selection.aging_us = aging_us_;
    context.save.drop_when_full = random->OneIn(2);
    context.save.disk_first = random->OneIn(4);
    budget_.SetClassLimits(limits);
    budget_.SetDropping(context.save.drop_when_full);
    return context;
  }

  // Like a session that answered its bell and had nothing to take.
  void Look(Session* session) {
    if (session->outlet == nullptr) return;
    session->bell.Answer();
    session->rings = session->bell.rings();
    if (lanes_->Best(session->outlet, now_us_) != 0) session->rings = -1;
  }
  // Arrivals and holds without any time passed.
  void ExpectThatItWasRung(Session* session) {
    if (session->outlet == nullptr || session->rings < 0) return;
    const int rings = session->bell.rings();
    if (lanes_->Best(session->outlet, now_us_) == 0) return;
    EXPECT_GT(rings, session->rings) << "it would sleep for ever";
  }

  void Take(Session* session, bool backlog) {
    const bool critical =
        lanes_->Best(session->outlet, now_us_, MaskOf(kCritical)) == kCritical && !backlog;
    const uint8_t best = backlog ? lanes_->BestBacklog(session->outlet, now_us_)
                                 : lanes_->Best(session->outlet, now_us_);
    uint8_t taken = 0;
    lanes_->Take(
        session->outlet, now_us_,
        [&](const Batch& batch) {
          taken = batch.record_class;
          session->taken.push_back(batch.id);
          // First deliveries are in order, live and backlog each.
          uint64_t& last = last_[backlog][taken];
          EXPECT_EQ(batch.backlog, backlog);
          if (!batch.redelivery) {
            EXPECT_GT(batch.sequence, last) << int{taken} << backlog;
            last = batch.sequence;
          }
          return true;
        },
        backlog);
    ASSERT_EQ(taken, best) << "Take does what Best says";
    ASSERT_TRUE(taken == 0 || (session->classes & MaskOf(taken)));
    if (critical && taken != kCritical) {
      EXPECT_NE(taken, 0) << "class 1 is never held";
      EXPECT_GT(aging_us_, 0);
      EXPECT_GE(now_us_ - served_us_[taken], aging_us_);
    }
    if (!backlog) served_us_[taken] = now_us_;
    if (taken != 0 || backlog) return;
    const int64_t retry = lanes_->RetryUs(session->outlet, now_us_);
    ASSERT_TRUE(retry == -1 || retry > 0 || lanes_->BestBacklog(session->outlet, now_us_) != 0);
  }

  void Save() {
    if (Seal(now_us_ + 20 * kMs) == 0) return;
    rows_[++row_] = chunk_.bytes;
    Commit(chunk_.ticket, row_);
  }

  // As in StoreQueue::Loaded.
  void Read(uint8_t c) {
    WantedRow wanted;
    if (!lanes_->WantsBacklog(c) || !ledger_.Wants("one", c, &wanted)) return;
    ChunkHead head;
    std::vector<ChunkEntry> entries;
    ASSERT_EQ(ReadChunk(rows_.at(wanted.up_to), &head, &entries), ChunkError::kNone);
    std::vector<uint32_t> counts;
    for (const ChunkEntry& entry : entries) counts.push_back(entry.record_count);
    uint64_t ticket = 0;
    std::vector<bool> needed;
    ASSERT_TRUE(ledger_.Loaded(wanted, wanted.up_to, counts, &ticket, &needed));
    std::vector<BatchPtr> batches;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (!needed[i]) continue;
      batches.push_back(BatchOf(entries[i], c, head.epoch));
      batches.back()->chunk = ticket;
      batches.back()->place = static_cast<uint16_t>(i);
    }
    lanes_->PushBacklog(std::move(batches));
  }

  int64_t now_us_ = 1'000'000 * kMs;
  int64_t aging_us_ = 0;
  std::array<int64_t, kClasses + 1> served_us_{};
  int64_t row_ = 0;
  std::map<int64_t, std::string> rows_;
  std::array<std::array<uint64_t, kClasses + 1>, 2> last_{};
};

TEST_F(LanesLimitsRandomTest, OrderHoldsAndCountersReconcile) {
  test::Random random;
  Use(RandomContext(&random));
  lanes_->Detach(outlet_);
  std::vector<Session> sessions(2);
  for (uint8_t c = kCritical; c <= kClasses; ++c) {
    sessions[random.In<size_t>(0, 1)].classes |= MaskOf(c);
  }
  // Large batches use up the lead of a class, and fill the memory.
  const size_t largest = random.OneIn(2) ? 3000 : 30'000;
  for (int i = 0; i < 30'000; ++i) {
    now_us_ += random.In<int64_t>(0, random.OneIn(1000) ? 15'000 : 10) * kMs;
    Session& session = sessions[random.In<size_t>(0, 1)];
    if (session.outlet == nullptr && session.classes != 0) {
      session.outlet = lanes_->Attach(&session.bell, session.classes);
      ASSERT_NE(session.outlet, nullptr);
    }
    for (Session& each : sessions) Look(&each);
    switch (random.In(0, 9)) {
      case 0:
      case 1:
      case 2:
        Push(random.In<uint8_t>(kCritical, kClasses),
             std::string(random.In<size_t>(0, largest), 'x'));
        break;
      case 3:
      case 4:
        if (session.outlet == nullptr || !session.connected || session.taken.size() > 32) break;
        Take(&session, random.OneIn(3));
        break;
      case 5:
      case 6:
        if (session.taken.empty()) break;
        ASSERT_TRUE(lanes_->Release(session.outlet, session.taken.back(), now_us_));
        session.taken.pop_back();
        break;
      case 7:
        Save();
        break;
      case 8:
        Read(random.In<uint8_t>(kCritical, kClasses));
        break;
      default:
        if (session.outlet == nullptr) break;
        if (random.OneIn(10)) {
          session.connected = !session.connected;
          lanes_->SetConnected(session.outlet, session.connected, now_us_);
        } else if (random.OneIn(50)) {
          lanes_->Detach(session.outlet);
          session.outlet = nullptr;
          session.connected = false;
          session.taken.clear();
        } else {
          lanes_->Sweep(now_us_);
        }
    }
    for (Session& each : sessions) ExpectThatItWasRung(&each);
    if (testing::Test::HasFailure()) return;
    if (i % 100 == 0) ExpectThatCountersReconcile();
  }
  lanes_->Clear(Drop::kClosed);
  EXPECT_EQ(budget_.held(), 0);
  ExpectThatCountersReconcile();
}

}  // namespace
}  // namespace seganet
