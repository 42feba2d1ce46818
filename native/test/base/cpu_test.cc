#include "core/base/cpu.h"

#include <gtest/gtest.h>
#ifdef __linux__
#include <sched.h>
#endif

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "test/support/support.h"

namespace seganet {
namespace {

using Cpus = std::vector<int>;

Cpus Parsed(std::string_view list) {
  Cpus cpus;
  const Status status = ParseCpuList(list, &cpus);
  EXPECT_TRUE(status.ok()) << status.message();
  return cpus;
}

Cpus Assigned(const Cpus& allowed, const Cpus& wanted, int workers) {
  Cpus cpus;
  const Status status = AssignCpus(allowed, wanted, workers, &cpus);
  EXPECT_TRUE(status.ok()) << status.message();
  return cpus;
}

TEST(Cpu, ReadsLists) {
  EXPECT_EQ(Parsed(""), Cpus());
  EXPECT_EQ(Parsed("0"), Cpus({0}));
  EXPECT_EQ(Parsed("1-3,5"), Cpus({1, 2, 3, 5}));
  EXPECT_EQ(Parsed("5,1-3,2,5"), Cpus({1, 2, 3, 5}));
  EXPECT_EQ(Parsed("7-7"), Cpus({7}));
  EXPECT_EQ(Parsed("1023"), Cpus({1023}));
  EXPECT_EQ(Parsed("007"), Cpus({7}));
}

TEST(Cpu, RefusesWhatIsNoList) {
  for (const char* bad : {" ",
                          "a",
                          "1,",
                          ",1",
                          "1,,2",
                          "-1",
                          "1-",
                          "3-1",
                          "1--3",
                          "1-2-3",
                          "+1",
                          "1 ",
                          " 1",
                          "1;2",
                          "0x1",
                          "1.0",
                          "1024",
                          "0-1024",
                          "99999999999999999999",
                          "2147483648",
                          "1-99999999999",
                          "1\n",
                          "all"}) {
    Cpus cpus;
    const Status status = ParseCpuList(bad, &cpus);
    EXPECT_EQ(status.code(), Status::Code::kInvalidArgument) << "'" << bad << "'";
    EXPECT_NE(status.message().find(bad), std::string::npos);
  }
  Cpus cpus;
  EXPECT_FALSE(ParseCpuList(std::string_view("1\0", 2), &cpus).ok());
}

TEST(Cpu, AnyTextIsReadOrRefusedAndBounded) {
  test::Random random;
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = random.Text(random.In<size_t>(0, 12), "0123456789-,,- x");
    Cpus cpus;
    if (!ParseCpuList(text, &cpus).ok()) continue;
    ASSERT_TRUE(std::is_sorted(cpus.begin(), cpus.end())) << text;
    ASSERT_LE(cpus.size(), 1024u);
    for (int cpu : cpus) ASSERT_TRUE(cpu >= 0 && cpu <= 1023) << text;
  }
}

// A list that names every core a hundred thousand times uses no more memory than its result.
TEST(Cpu, LongListsCostNoMemory) {
  std::string text = "0-1023";
  for (int i = 0; i < 100'000; ++i) text += ",0-1023";
  const Cpus cpus = Parsed(text);
  EXPECT_EQ(cpus.size(), 1024u);
  EXPECT_LE(cpus.capacity(), 2048u);
}

TEST(Cpu, LeavesTheFirstCoreToJavaScript) {
  EXPECT_EQ(Assigned({0, 1, 2, 3}, {}, 0), Cpus({1, 2, 3}));
  EXPECT_EQ(Assigned({4, 6}, {}, 0), Cpus({6}));
}

TEST(Cpu, UsesTheOnlyCoreThereIs) { EXPECT_EQ(Assigned({5}, {}, 0), Cpus({5})); }

TEST(Cpu, UnknownCoresGiveOneUnpinnedWorker) {
  EXPECT_EQ(Assigned({}, {}, 0), Cpus({-1}));
  EXPECT_EQ(Assigned({}, {}, 3), Cpus({-1, -1, -1}));
}

TEST(Cpu, WantedCoresMayIncludeTheFirst) {
  EXPECT_EQ(Assigned({0, 1, 2}, {0, 2}, 0), Cpus({0, 2}));
  EXPECT_EQ(Assigned({0, 1, 2}, {0}, 2), Cpus({0, 0}));
}

TEST(Cpu, WorkersBeyondTheCoresShareThem) {
  EXPECT_EQ(Assigned({0, 1, 2}, {}, 5), Cpus({1, 2, 1, 2, 1}));
  EXPECT_EQ(Assigned({0}, {}, 2), Cpus({0, 0}));
}

TEST(Cpu, AutomaticWorkersEndAt16) {
  Cpus allowed;
  for (int cpu = 0; cpu < 64; ++cpu) allowed.push_back(cpu);
  EXPECT_EQ(Assigned(allowed, {}, 0).size(), 16u);
  EXPECT_EQ(Assigned(allowed, {}, 40).size(), 40u);
}

TEST(Cpu, RefusesCoresThatAreNotAllowed) {
  Cpus cpus;
  const Status status = AssignCpus({0, 1}, {1, 9}, 0, &cpus);
  EXPECT_EQ(status.code(), Status::Code::kInvalidArgument);
  EXPECT_NE(status.message().find("core 9"), std::string::npos);
}

#ifdef __linux__

TEST(Cpu, PinningIsSeenByTheKernel) {
  for (int cpu : AllowedCpus()) {
    std::thread([cpu] {
      ASSERT_EQ(PinThisThread(cpu), "");
      EXPECT_EQ(AllowedCpus(), Cpus({cpu}));
      EXPECT_EQ(sched_getcpu(), cpu);
    }).join();
  }
}

TEST(Cpu, TellsWhyPinningFails) {
  std::thread([] {
    const Cpus before = AllowedCpus();
    EXPECT_EQ(PinThisThread(-1), "no core known");
    EXPECT_EQ(PinThisThread(1023), "EINVAL");
    EXPECT_EQ(PinThisThread(5000), "EINVAL");
    EXPECT_EQ(AllowedCpus(), before);
  }).join();
}

std::string Comm() {
  std::ifstream file("/proc/self/task/" + std::to_string(ThisThreadId()) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

TEST(Cpu, NamesThreadsAndCutsLongNames) {
  std::thread([] {
    NameThisThread("seganet-w0");
    EXPECT_EQ(Comm(), "seganet-w0");
    NameThisThread("seganet-and-much-more");
    EXPECT_EQ(Comm(), "seganet-and-muc");
  }).join();
}

#endif

}  // namespace
}  // namespace seganet
