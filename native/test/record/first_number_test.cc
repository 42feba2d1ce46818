#include "core/record/first_number.h"

#include <gtest/gtest.h>

#include <string>

namespace seganet {
namespace {

TEST(FirstNumber, IsThePayloadOrTheFirstNumberInIt) {
  EXPECT_EQ(FirstNumber("21.5"), 21.5);
  EXPECT_EQ(FirstNumber(" -3e2\n"), -300);
  EXPECT_EQ(FirstNumber(R"({"state":"7","temp":21.5,"hum":40})"), 21.5);
  EXPECT_EQ(FirstNumber(R"({"a":{"b":[true,null,{"c":-0.5}]},"d":9})"), -0.5);
  EXPECT_EQ(FirstNumber("[[1],2]"), 1);
}

TEST(FirstNumber, LeavesOutMembersThatTellTheTime) {
  EXPECT_EQ(FirstNumber(R"({"ts":1700000000,"time":5,"timestamp":6,"temp":21})"), 21);
  EXPECT_EQ(FirstNumber(R"({"ts":1700000000})"), std::nullopt);
  EXPECT_EQ(FirstNumber(R"({"ts":"now","temp":21})"), 21);
}

TEST(FirstNumber, HasNoneOfWhatIsNotJsonOrBeyondADouble) {
  for (const char* text : {"", "on", "05", "+5", "NaN", "21.5 C", "{\"a\":1", "{\"a\":1}}", "1e999",
                           "{}", "\"5\"", "true", "[1,]", "{\"a\":1}\xFF", "[1,\"\xC3\x28\"]"}) {
    EXPECT_EQ(FirstNumber(text), std::nullopt) << text;
  }
  EXPECT_EQ(FirstNumber(std::string("5\0", 2)), std::nullopt);
  EXPECT_EQ(FirstNumber(std::string(64, '[') + "1" + std::string(64, ']')), 1);
  EXPECT_EQ(FirstNumber(std::string(65, '[') + "1" + std::string(65, ']')), std::nullopt);
}

}  // namespace
}  // namespace seganet
