// main.cc's treatment of a skipped test: these tests run themselves again.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace seganet {
namespace {

constexpr char kSkip[] = "SEGANET_TEST_SKIPS";

// 0 = the run has passed.
int RunWithASkip(const std::string& required) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command = "env -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX " +
                              std::string(kSkip) + "=1 SEGANET_REQUIRE_TOOLS=" + required + " '" +
                              self + "' --gtest_filter=SkipTest.SkipsWhenItIsTold >/dev/null";
  return std::system(command.c_str());
}

TEST(SkipTest, SkipsWhenItIsTold) {
  if (std::getenv(kSkip) != nullptr) GTEST_SKIP() << "as told";
}

TEST(SkipTest, ASkippedTestFailsWhereCiPromisesAllThatItNeeds) {
  EXPECT_EQ(RunWithASkip("0"), 0);
  EXPECT_EQ(RunWithASkip(""), 0);
  EXPECT_NE(RunWithASkip("1"), 0);
}

}  // namespace
}  // namespace seganet
