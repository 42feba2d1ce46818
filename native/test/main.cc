// GoogleTest's own main, except that a skipped test fails where SEGANET_REQUIRE_TOOLS=1 (CI)
// promises everything that a test may need, as in Jest (bench/harness/tools.js).
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

namespace {

class NoSkips : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo& test) override {
    if (test.result()->Skipped()) ADD_FAILURE() << "SEGANET_REQUIRE_TOOLS=1 forbids to skip";
  }
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const char* const required = std::getenv("SEGANET_REQUIRE_TOOLS");
  if (required != nullptr && std::string_view(required) == "1") {
    testing::UnitTest::GetInstance()->listeners().Append(new NoSkips);  // GoogleTest deletes it
  }
  return RUN_ALL_TESTS();
}
