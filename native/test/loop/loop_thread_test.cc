#include "core/loop/loop_thread.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace seganet {
namespace {

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

// In a separate process: no memory is left for a thread's stack.
void StartWithoutRoom() {
  rlimit stack{};
  getrlimit(RLIMIT_STACK, &stack);
  long pages = 0;
  FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%ld", &pages) != 1) std::_Exit(3);
  const rlimit limit{static_cast<rlim_t>(pages * getpagesize()) + (1 << 20), RLIM_INFINITY};
  LoopThread thread;
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(4);
  const Status status = thread.Start("test", LoopThread::kUnpinned);
  thread.Stop();
  const bool posted = thread.Post([] {});
  std::fprintf(stderr, "%s", status.message().c_str());
  std::_Exit(!status.ok() && !posted ? 0 : 5);
}

TEST(LoopThreadDeathTest, AThreadThatTheSystemRefusesIsAnError) {
  EXPECT_EXIT(StartWithoutRoom(), testing::ExitedWithCode(0), "cannot start the thread test: ");
}

#endif

TEST(LoopThread, RunsWhatIsPostedAndEnds) {
  LoopThread thread;
  ASSERT_TRUE(thread.Start("test", LoopThread::kUnpinned).ok());
  int runs = 0;
  EXPECT_TRUE(thread.Post([&] { ++runs; }));
  EXPECT_TRUE(thread.Call([&] { ++runs; }));
  EXPECT_EQ(runs, 2);
  thread.Stop();
  EXPECT_FALSE(thread.Call([&] { ++runs; }));
}

}  // namespace
}  // namespace seganet
