#include "core/base/time_slice.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <cstdio>
#include <latch>
#include <thread>

#include "core/base/cpu.h"

namespace seganet {
namespace {

// Linux tells and takes the length of slices from this version on.
bool SystemHasSlices() {
  utsname name{};
  int major = 0;
  int minor = 0;
  uname(&name);
  std::sscanf(name.release, "%d.%d", &major, &minor);  // NOLINT(cert-err34-c)
  return major > 6 || (major == 6 && minor >= 12);
}

TEST(TimeSlice, IsShortFromLinux612OnForEachThread) {
  const uint64_t wanted = SystemHasSlices() ? kShortTimeSliceNs : 0;
  std::latch isStarted(1);
  std::latch isShort(1);
  uint64_t earlier = 1;
  std::thread other([&] {
    isStarted.count_down();
    isShort.wait();
    earlier = TimeSliceNs();
  });
  isStarted.wait();
  EXPECT_EQ(ShortenTimeSlices(), wanted);
  EXPECT_EQ(ShortenTimeSlices(), wanted);  // once more
  isShort.count_down();
  other.join();
  EXPECT_EQ(earlier, wanted);
  uint64_t later = 1;
  std::thread([&] { later = TimeSliceNs(); }).join();
  EXPECT_EQ(later, wanted);
}

TEST(TimeSlice, KeepsTheNiceValue) {
  std::thread([] {
    const auto self = static_cast<id_t>(ThisThreadId());
    ASSERT_EQ(setpriority(PRIO_PROCESS, self, 5), 0);
    ShortenTimeSlices();
    EXPECT_EQ(getpriority(PRIO_PROCESS, self), 5);
  }).join();
}

TEST(TimeSlice, LeavesThreadsOfOtherPoliciesAlone) {
  std::thread([] {
    const sched_param none{};
    ASSERT_EQ(sched_setscheduler(0, SCHED_BATCH, &none), 0);
    EXPECT_EQ(ShortenTimeSlices(), 0u);
    EXPECT_EQ(sched_getscheduler(0), SCHED_BATCH);
  }).join();
}

}  // namespace
}  // namespace seganet
