// Invariants: every batch is sent, each class in its order, and each is released once.
#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "test/support/express_support.h"

namespace seganet {
namespace {

using test::Random;
using test::SentPublish;

// Batches have the numbers 1, 2, … of their class as payload.
class ExpressRandomTest : public test::ExpressTest {
 protected:
  void PutNext(uint8_t c) { Put(c, std::to_string(++pushed_[c])); }

  // New batches of a class arrive in order; repeated ones are marked.
  void Hear(const std::vector<SentPublish>& packets) {
    for (const SentPublish& packet : packets) {
      const int c = std::stoi(packet.topic);
      const int number = std::stoi(packet.payload);
      ASSERT_TRUE(on_the_way_.emplace(packet.id, std::pair(c, number)).second) << packet.id;
      ASSERT_EQ(released_[c].count(number), 0u) << "it was acknowledged";
      if (packet.is_dup) {
        ASSERT_LE(number, heard_[c]);
        ASSERT_GT(number, again_[c]) << "what comes again keeps its order";
        again_[c] = number;
      } else {
        ASSERT_EQ(number, heard_[c] + 1);
        heard_[c] = number;
      }
    }
  }

  // The broker answers one of those in flight.
  void Answer(Random* random, bool may_refuse) {
    const auto at =
        std::next(on_the_way_.begin(), random->In<ptrdiff_t>(0, std::ssize(on_the_way_) - 1));
    if (may_refuse && random->OneIn(10)) {
      ASSERT_EQ(Ack(at->first, 0x97), LeaveReason::kRefusal);
      return;
    }
    const auto [c, number] = at->second;
    ASSERT_EQ(Ack(at->first), LeaveReason::kNone);
    ASSERT_TRUE(released_[c].insert(number).second);
    on_the_way_.erase(at);
  }

  // The feeder takes over the in-flight batches, and all of them are there.
  void Leave() {
    ASSERT_EQ(express_->window().List().size(), on_the_way_.size());
    for (const auto& [id, flight] : express_->window().List()) {
      const auto at = on_the_way_.find(id);
      ASSERT_NE(at, on_the_way_.end());
      const auto [c, number] = at->second;
      ASSERT_TRUE(shared_->Look(outlet_, flight.batch, [c = c, number = number](const Batch& b) {
        ASSERT_EQ(b.record_class, c);
        ASSERT_TRUE(b.bytes == "dt" + std::to_string(number));
      }));
    }
  }

  // Leaves, and either the feeder sends the in-flight batches to the end, or the session is lost.
  void BoardAnew(Random* random) {
    ASSERT_NO_FATAL_FAILURE(Leave());
    if (random->OneIn(2)) {
      for (const auto& [id, flight] : express_->window().List()) {
        ASSERT_TRUE(shared_->Release(outlet_, flight.batch, Now()));
        const auto [c, number] = on_the_way_.at(id);
        released_[c].insert(number);
      }
    } else {
      shared_->Detach(outlet_);
      outlet_ = shared_->Attach(&bell_);
      again_ = {};
    }
    on_the_way_.clear();
    BoardAnyhow(random);
  }

  void BoardAnyhow(Random* random) {
    const auto window = random->In<uint32_t>(1, 12);
    BoardAsItIs({.window = window,
                 .reserved = random->In<uint32_t>(0, window),
                 .max_unsent = random->In<size_t>(1, 200)});
  }

  std::array<int, kClasses + 1> pushed_{}, heard_{}, again_{};
  std::array<std::set<int>, kClasses + 1> released_;
  std::map<uint16_t, std::pair<int, int>> on_the_way_;
};

TEST_F(ExpressRandomTest, NothingIsLostNorOutOfOrder) {
  Random random;
  BoardAnyhow(&random);
  const auto pump = [&] {
    Pump(random.OneIn(4) ? 200 : 0);
    Hear(sent_);
  };
  for (int step = 0; step < 6000; ++step) {
    now_us_ += random.In<int64_t>(0, 200'000);
    tick_us_ = random.In<int64_t>(0, 300);
    if (random.OneIn(2)) PutNext(random.In<uint8_t>(kCritical, kClasses));
    if (random.OneIn(3)) {
      ASSERT_NO_FATAL_FAILURE(pump());
    }
    if (!on_the_way_.empty() && random.OneIn(2)) {
      ASSERT_NO_FATAL_FAILURE(Answer(&random, true));
    }
    if (random.OneIn(100)) {
      ASSERT_NO_FATAL_FAILURE(BoardAnew(&random));
    }
  }
  int all = 0;
  for (const int count : pushed_) all += count;
  for (int turn = 0; done_ < all && turn < 10'000; ++turn) {
    ASSERT_NO_FATAL_FAILURE(pump());
    while (!on_the_way_.empty()) {
      ASSERT_NO_FATAL_FAILURE(Answer(&random, false));
    }
  }
  EXPECT_EQ(done_, all);
  for (uint8_t c = kCritical; c <= kClasses; ++c) {
    EXPECT_EQ(heard_[c], pushed_[c]);
    EXPECT_EQ(std::ssize(released_[c]), pushed_[c]);
    EXPECT_EQ(budget_.records(c), 0);
  }
}

// A worker pushes while the session's thread pumps.
TEST_F(ExpressRandomTest, TheLanesAreAnybodys) {
  constexpr int kCount = 3000;
  BoardAsItIs({.window = 16, .reserved = 4});
  std::atomic<int> acknowledged{0};
  std::thread worker([&] {
    for (int i = 0; i < kCount; ++i) {
      while (i - acknowledged.load() > 200) std::this_thread::yield();
      PutNext(i % 3 == 0 ? kCritical : kNormal);
    }
  });
  bool is_good = true;
  while (is_good && acknowledged < kCount) {
    Pump();
    Hear(sent_);
    is_good = !HasFatalFailure();
    for (const SentPublish& packet : sent_) {
      is_good &= Ack(packet.id) == LeaveReason::kNone;
      on_the_way_.erase(packet.id);
    }
    acknowledged += static_cast<int>(sent_.size());
    if (sent_.empty()) std::this_thread::yield();
  }
  acknowledged = 2 * kCount;
  worker.join();
  EXPECT_TRUE(is_good);
  EXPECT_EQ(done_, kCount);
}

}  // namespace
}  // namespace seganet
