#include "core/base/cpu_capacity.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "test/support/support.h"

namespace seganet {
namespace {

using Capacities = std::vector<uint32_t>;

class CpuCapacity : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/seganet-sysfs-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    root_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void Write(int cpu, const std::string& file, const std::string& text) {
    const std::string path = root_ + "/cpu" + std::to_string(cpu) + "/" + file;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text << "\n";
  }
  Capacities Of(const std::vector<int>& cpus) { return WorkerCapacities(cpus, root_); }

  std::string root_;
};

TEST_F(CpuCapacity, IsTheKernels) {
  for (int cpu : {0, 1, 2, 3}) Write(cpu, "cpu_capacity", cpu < 2 ? "446" : "1024");
  EXPECT_EQ(Of({1, 2, 3}), Capacities({446, 1024, 1024}));
}

TEST_F(CpuCapacity, TheStrongestCoreInUseIsOneThousandAndTwentyFour) {
  for (int cpu : {0, 1}) Write(cpu, "cpu_capacity", "446");
  EXPECT_EQ(Of({0, 1}), Capacities({1024, 1024}));
}

TEST_F(CpuCapacity, WithoutItTheFrequencyCounts) {
  Write(0, "cpufreq/cpuinfo_max_freq", "1800000");
  Write(1, "cpufreq/cpuinfo_max_freq", "2400000");
  EXPECT_EQ(Of({0, 1}), Capacities({768, 1024}));
}

TEST_F(CpuCapacity, TheTwoScalesAreNotMixed) {
  Write(0, "cpu_capacity", "446");
  Write(0, "cpufreq/cpuinfo_max_freq", "1200000");
  Write(1, "cpufreq/cpuinfo_max_freq", "2400000");
  EXPECT_EQ(Of({0, 1}), Capacities({512, 1024}));
}

TEST_F(CpuCapacity, WithoutOneCoresValueAllAreEqual) {
  EXPECT_EQ(Of({0, 1}), Capacities({1024, 1024}));
  Write(0, "cpu_capacity", "446");
  EXPECT_EQ(Of({0, 1}), Capacities({1024, 1024}));
  for (const char* bad : {"", "x", "0", "-1"}) {
    Write(1, "cpu_capacity", bad);
    EXPECT_EQ(Of({0, 1}), Capacities({1024, 1024})) << bad;
  }
  EXPECT_EQ(Of({-1, 0}), Capacities({1024, 1024}));
  EXPECT_EQ(Of({}), Capacities());
}

TEST_F(CpuCapacity, WorkersThatShareACoreShareItsCapacity) {
  for (int cpu : {0, 1}) Write(cpu, "cpu_capacity", "1024");
  EXPECT_EQ(Of({0, 1, 0}), Capacities({512, 1024, 512}));
}

}  // namespace
}  // namespace seganet
