#include "core/encoding/cbor_items.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "core/encoding/cbor_json.h"
#include "test/support/support.h"

namespace seganet {
namespace {

using test::Hex;

std::string Number(std::string_view text) {
  std::string out = "x";
  if (!cbor::AppendJsonNumber(text, &out)) return out == "x" ? "refused" : "changed";
  return Hex(out.substr(1));
}

std::string Value(std::string_view json) {
  CborFromJson translate;
  std::string out = "x";
  const CborFromJson::Result result = translate.Append(json, &out);
  if (result == CborFromJson::Result::kDone) return Hex(out.substr(1));
  if (out != "x") return "changed";
  return result == CborFromJson::Result::kInexact ? "inexact" : "no JSON";
}

// Examples of RFC 8949, appendix A.
TEST(CborItems, WholeNumbersAreIntegersInTheirShortestForm) {
  EXPECT_EQ(Number("0"), "00");
  EXPECT_EQ(Number("23"), "17");
  EXPECT_EQ(Number("24"), "1818");
  EXPECT_EQ(Number("1000"), "1903e8");
  EXPECT_EQ(Number("1000000"), "1a000f4240");
  EXPECT_EQ(Number("1000000000000"), "1b000000e8d4a51000");
  EXPECT_EQ(Number("-1"), "20");
  EXPECT_EQ(Number("-1000"), "3903e7");
  EXPECT_EQ(Number("-9223372036854775808"), "3b7fffffffffffffff");
  EXPECT_EQ(Number("9999999999999999999"), "1b8ac7230489e7ffff");
}

TEST(CborItems, TheNotationOfANumberDoesNotCount) {
  EXPECT_EQ(Number("1.0"), "01");
  EXPECT_EQ(Number("1e3"), Number("1000"));
  EXPECT_EQ(Number("0.0100E+2"), "01");
  EXPECT_EQ(Number("1.50"), Number("1.5"));
  EXPECT_EQ(Number("0e99999999999"), "00");
}

TEST(CborItems, FractionsAreFloatsOrDecimalFractionsWhicheverIsShorter) {
  EXPECT_EQ(Number("1.5"), "f93e00");
  EXPECT_EQ(Number("-4.125"), "f9c420");
  EXPECT_EQ(Number("65536.5"), "fa47800040");   // 5 bytes; as a fraction 8
  EXPECT_EQ(Number("273.15"), "c48221196ab3");  // RFC 8949, 3.4.4
  EXPECT_EQ(Number("0.1"), "c4822001");
  EXPECT_EQ(Number("-0.1"), "c4822020");
  EXPECT_EQ(Number("1763712000.123"), "fb41da48070007df3b");
  EXPECT_EQ(Number("1e300"), "c48219012c01");
}

TEST(CborItems, ZeroKeepsItsSign) {
  EXPECT_EQ(Number("-0"), "f98000");
  EXPECT_EQ(Number("-0.00e5"), "f98000");
  EXPECT_EQ(Number("0.0"), "00");
}

TEST(CborItems, NumbersBeyondTheFormsAreRefused) {
  EXPECT_EQ(Number("12345678901234567891"), "refused");
  EXPECT_EQ(Number("0.12345678901234567890123"), "refused");
  EXPECT_EQ(Number("1e2147483648"), "refused");
  EXPECT_EQ(Number("1e-99999999999999999999"), "refused");
  EXPECT_EQ(Number("1e400"), "c48219019001");  // a decimal fraction has the range
}

TEST(CborItems, DigitsThatADoubleWouldLoseBecomeADecimalFraction) {
  // The nearest double is 0.3; 17 digits name it exactly only if they are the shortest.
  EXPECT_EQ(Number("0.30000000000000004"), "fb3fd3333333333334");
  EXPECT_EQ(Number("0.30000000000000001"), "c482301b006a94d74f430001");
}

TEST(CborFromJson, TranslatesValues) {
  EXPECT_EQ(Value("{\"a\":1,\"b\":[2,3]}"), "a26161016162820203");
  EXPECT_EQ(Value(" [ true , false , null , \"\" , { } , [ ] ] "), "86f5f4f660a080");
  EXPECT_EQ(Value("\"\\u00fc\\n\\ud83d\\ude00\\/\""), "68c3bc0af09f98802f");
  std::string ones = "[1";
  for (int i = 1; i < 25; ++i) ones += ",1";
  EXPECT_EQ(Value(ones + "]").substr(0, 6), "981901");
  EXPECT_EQ(Value("{\"x\":" + ones + "],\"y\":0}").substr(0, 12), "a26178981901");
}

TEST(CborFromJson, ReportsWhatCborCannotCarryExactly) {
  EXPECT_EQ(Value("{\"a\":1,\"b\":{\"c\":1,\"\\u0063\":2}}"), "inexact");
  EXPECT_EQ(Value("[\"\\ud800\"]"), "inexact");
  EXPECT_EQ(Value("{\"\\udc00\":1}"), "inexact");
  EXPECT_EQ(Value("[12345678901234567891]"), "inexact");
  EXPECT_EQ(Value("{\"a\":{\"b\":1},\"b\":{\"b\":1}}"), "a26161a16162016162a1616201");
}

TEST(CborFromJson, RefusesAnythingElse) {
  for (const std::string_view text : {"", "{", "[1,]", "1 2", "on", "\"\xFF\"", "{\"a\":1,}"}) {
    EXPECT_EQ(Value(text), "no JSON") << text;
  }
  const std::string deep(kMaxJsonDepth, '['), end(kMaxJsonDepth, ']');
  EXPECT_EQ(Value(deep + end).size(), 2u * kMaxJsonDepth);
  EXPECT_EQ(Value("[" + deep + end + "]"), "no JSON");
}

}  // namespace
}  // namespace seganet
