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
  const char* const wrapper = std::getenv("SEGANET_TEST_WRAPPER");  // an emulator, for example
  const std::string command = "env -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX " +
                              std::string(kSkip) + "=1 SEGANET_REQUIRE_TOOLS=" + required + " " +
                              (wrapper == nullptr ? "" : wrapper) + " '" + self +
                              "' --gtest_filter=SkipTest.SkipsOnRequest >/dev/null";
  return std::system(command.c_str());
}

TEST(SkipTest, SkipsOnRequest) {
  if (std::getenv(kSkip) != nullptr) GTEST_SKIP() << "requested";
}

TEST(SkipTest, ASkippedTestFailsWhereCiPromisesAllThatItNeeds) {
  EXPECT_EQ(RunWithASkip("0"), 0);
  EXPECT_EQ(RunWithASkip(""), 0);
  EXPECT_NE(RunWithASkip("1"), 0);
}

}  // namespace
}  // namespace seganet
