#include "core/base/nap.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "core/base/clock.h"

namespace seganet {
namespace {

// Longer than any test may take: a nap that lasts that long fails by the time limit.
constexpr int64_t kLongUs = 600'000'000;
constexpr int64_t kShortUs = 2'000;

TEST(Nap, LastsItsTimeIfNothingIsUrgent) {
  Nap nap;
  EXPECT_GE(nap.Sleep(kShortUs), kShortUs);
  EXPECT_EQ(nap.ended(), 0u);
}

TEST(Nap, EndsWhenAnotherThreadAsks) {
  Nap nap;
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) {
      nap.End();
      std::this_thread::yield();
    }
  });
  EXPECT_LT(nap.Sleep(kLongUs), kLongUs);
  done = true;
  other.join();
  EXPECT_EQ(nap.ended(), 1u);
}

TEST(Nap, DoesNotBeginIfSomethingUrgentCameBefore) {
  Nap nap;
  nap.End();
  EXPECT_LT(nap.Sleep(kLongUs), kLongUs);
  EXPECT_GE(nap.Sleep(kShortUs), kShortUs) << "one request ends one nap";
}

TEST(Nap, IgnoresWhatIsServedAlready) {
  Nap nap;
  nap.End();
  nap.Begin();
  EXPECT_GE(nap.Sleep(kShortUs), kShortUs);
}

class NapSockets : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds_), 0); }
  void TearDown() override {
    close(fds_[0]);
    close(fds_[1]);
  }
  void Write() { ASSERT_EQ(write(fds_[1], "x", 1), 1); }
  void Read() {
    char byte = 0;
    ASSERT_EQ(read(fds_[0], &byte, 1), 1);
  }
  int fds_[2];
  Nap nap_;
};

TEST_F(NapSockets, DataOnAWatchedSocketEndsNapsUntilItIsRead) {
  ASSERT_TRUE(nap_.Watch(fds_[0]));
  Write();
  EXPECT_LT(nap_.Sleep(kLongUs), kLongUs);
  EXPECT_LT(nap_.Sleep(kLongUs), kLongUs);
  Read();
  EXPECT_GE(nap_.Sleep(kShortUs), kShortUs);
  Write();
  EXPECT_LT(nap_.Sleep(kLongUs), kLongUs);
  EXPECT_EQ(nap_.ended(), 3u);
}

TEST_F(NapSockets, DataThatComesDuringTheNapEndsIt) {
  ASSERT_TRUE(nap_.Watch(fds_[0]));
  std::thread other([this] { Write(); });
  EXPECT_LT(nap_.Sleep(kLongUs), kLongUs);
  other.join();
}

TEST_F(NapSockets, ASocketThatIsNotWatchedAnymoreEndsNone) {
  ASSERT_TRUE(nap_.Watch(fds_[0]));
  nap_.Unwatch(fds_[0]);
  Write();
  EXPECT_GE(nap_.Sleep(kShortUs), kShortUs);
  EXPECT_TRUE(nap_.Watch(fds_[0])) << "and can be watched again";
  EXPECT_LT(nap_.Sleep(kLongUs), kLongUs);
}

TEST_F(NapSockets, ADescriptorThatCannotBeWatchedIsReported) {
  EXPECT_FALSE(nap_.Watch(-1));
  ASSERT_TRUE(nap_.Watch(fds_[0]));
  EXPECT_FALSE(nap_.Watch(fds_[0])) << "twice";
}

TEST(Nap, EarlyEndsAreLimited) {
  Nap nap;
  const int64_t start_us = MonotonicUs();
  constexpr int kNaps = 200;
  for (int i = 0; i < kNaps; ++i) {
    nap.End();
    nap.Sleep(100);
  }
  const int64_t passed_us = MonotonicUs() - start_us;
  const int64_t most = Nap::kBurst + passed_us * Nap::kEndsPerS / 1'000'000 + 1;
  EXPECT_GE(nap.ended(), static_cast<uint64_t>(Nap::kBurst));
  EXPECT_LE(nap.ended(), static_cast<uint64_t>(most));
}

// Whenever the last call of End came, a nap that begins afterwards does not last.
TEST(Nap, NoRequestIsLostAmongManyThreads) {
  Nap nap;
  std::atomic<bool> done{false};
  std::vector<std::thread> others;
  for (int i = 0; i < 3; ++i) {
    others.emplace_back([&] {
      while (!done) nap.End();
    });
  }
  for (int64_t i = 0; i < Nap::kBurst; ++i) EXPECT_LT(nap.Sleep(kLongUs), kLongUs);
  done = true;
  for (std::thread& other : others) other.join();
}

}  // namespace
}  // namespace seganet
