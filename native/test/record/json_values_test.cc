#include "core/record/json_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/condition.h"
#include "core/record/json.h"

namespace seganet {
namespace {

// One path, and the value at it.
struct Found {
  JsonKind kind;
  std::string text;
  double number;
};

Found Find(std::string_view path_text, std::string_view payload) {
  Path path;
  const Status status = ParsePath(path_text, &path);
  EXPECT_TRUE(status.ok()) << status.message();
  JsonPaths paths;
  const size_t number = paths.Add(path);
  paths.Build();
  JsonValues values;
  paths.Read(payload, &values);
  Found found{values.KindOf(paths, number), "", 0};
  if (found.kind != JsonKind::kMissing) found.text = values.TextOf(paths, number);
  if (found.kind == JsonKind::kNumber) found.number = values.NumberOf(paths, number);
  return found;
}

JsonKind Kind(std::string_view path, std::string_view payload) { return Find(path, payload).kind; }
std::string Text(std::string_view path, std::string_view payload) {
  return Find(path, payload).text;
}

TEST(JsonValues, FindsValuesByPath) {
  constexpr std::string_view kPayload =
      R"( {"a":{"b":[1,{"c":"x"},[true]],"":null},"a b":false,"b":2,"e":[]} )";
  EXPECT_EQ(Text("a.b[0]", kPayload), "1");
  EXPECT_EQ(Text("$.a.b[1].c", kPayload), "x");
  EXPECT_EQ(Kind("a.b[2][0]", kPayload), JsonKind::kTrue);
  EXPECT_EQ(Kind("a['']", kPayload), JsonKind::kNull);
  EXPECT_EQ(Kind("$['a b']", kPayload), JsonKind::kFalse);
  EXPECT_EQ(Text("payload.b", kPayload), "2");
  EXPECT_EQ(Text("e", kPayload), "[]");
  EXPECT_EQ(Text("a.b", kPayload), R"([1,{"c":"x"},[true]])");
  EXPECT_EQ(Kind("a", kPayload), JsonKind::kObject);
  EXPECT_EQ(Kind("$", kPayload), JsonKind::kObject);
}

TEST(JsonValues, MissesWhatIsNotThere) {
  constexpr std::string_view kPayload = R"({"a":{"b":[1]},"c":3})";
  for (const char* path : {"x", "a.x", "a.b[1]", "a.b.c", "a[0]", "c.d", "c[0]", "b", "$[0]"}) {
    EXPECT_EQ(Kind(path, kPayload), JsonKind::kMissing) << path;
  }
}

TEST(JsonValues, APlainValueIsThePayloadItself) {
  EXPECT_EQ(Find("$", " 21.5\n").number, 21.5);
  EXPECT_EQ(Text("payload", "\"on\""), "on");
  EXPECT_EQ(Kind("$", "true"), JsonKind::kTrue);
}

TEST(JsonValues, FindsNothingInWhatIsNotJson) {
  for (const char* payload : {"", " ", "on", "{\"a\":1", "{\"a\":1}x", "{\"a\":1,}", "{\"a\":01}",
                              "{\"a\":1,\"b\":\"\xFF\"}", "\xEF\xBB\xBF{\"a\":1}", "nan"}) {
    EXPECT_EQ(Kind("a", payload), JsonKind::kMissing) << payload;
    EXPECT_EQ(Kind("$", payload), JsonKind::kMissing) << payload;
  }
  const std::string deep = std::string(kMaxJsonDepth, '[') + "1" + std::string(kMaxJsonDepth, ']');
  EXPECT_EQ(Kind("$", deep), JsonKind::kArray);
  EXPECT_EQ(Kind("$", "[" + deep + "]"), JsonKind::kMissing);
}

TEST(JsonValues, TheLastOfEqualMembersCounts) {
  EXPECT_EQ(Text("a", R"({"a":1,"a":2})"), "2");
  EXPECT_EQ(Text("a", R"({"a":1,"\u0061":2})"), "2");
  EXPECT_EQ(Kind("a.b", R"({"a":{"b":1},"a":{"c":2}})"), JsonKind::kMissing);
  EXPECT_EQ(Kind("a.b", R"({"a":{"b":1},"a":3})"), JsonKind::kMissing);
}

TEST(JsonValues, ReadsManyPathsInOnePass) {
  JsonPaths paths;
  std::string payload = "{";
  for (size_t i = 0; i < kMaxPaths; ++i) {
    const std::string name = "m" + std::to_string(i * 7919 % kMaxPaths);
    Path path;
    ASSERT_TRUE(ParsePath(name + "[1]", &path).ok());
    EXPECT_EQ(paths.Add(path), i);
    EXPECT_EQ(paths.Add(path), i);
    payload += "\"" + name + "\":[0," + std::to_string(i) + "],";
  }
  Path one_more;
  ASSERT_TRUE(ParsePath("x", &one_more).ok());
  EXPECT_EQ(paths.Add(one_more), kMaxPaths);
  paths.Build();
  payload.back() = '}';
  JsonValues values;
  ASSERT_TRUE(paths.Read(payload, &values));
  for (size_t i = 0; i < kMaxPaths; ++i) {
    ASSERT_EQ(values.KindOf(paths, i), JsonKind::kNumber);
    EXPECT_EQ(values.NumberOf(paths, i), static_cast<double>(i));
  }
}

TEST(JsonValues, TheLongestNameMatchesEscapedToo) {
  const std::string name(kMaxMemberBytes, 'n');
  EXPECT_EQ(Text("$['" + name + "']", "{\"" + name + "\":1}"), "1");
  EXPECT_EQ(Text("$['" + name + "']", "{\"\\u006e" + name.substr(1) + "\":1}"), "1");
  EXPECT_EQ(Kind("$['" + name + "']", "{\"\\u006e" + name + "\":1}"), JsonKind::kMissing);
}

TEST(JsonNumber, IsTheNearestDouble) {
  EXPECT_EQ(JsonNumber("-0"), 0.0);
  EXPECT_EQ(JsonNumber("30.5"), 30.5);
  EXPECT_EQ(JsonNumber("0.1"), 0.1);
  EXPECT_EQ(JsonNumber("1E2"), 100.0);
  EXPECT_EQ(JsonNumber("9007199254740993"), 9007199254740992.0);  // 2^53 + 1 has no double
  EXPECT_EQ(JsonNumber("5e-324"), 5e-324);
}

TEST(JsonNumber, BeyondTheRangeIsInfiniteOrZero) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::string many(400, '9');
  EXPECT_EQ(JsonNumber("1e400"), kInfinity);
  EXPECT_EQ(JsonNumber("-1e+400"), -kInfinity);
  EXPECT_EQ(JsonNumber(many), kInfinity);
  EXPECT_EQ(JsonNumber("1e-400"), 0.0);
  EXPECT_EQ(JsonNumber("0." + std::string(400, '0') + "1"), 0.0);
  EXPECT_EQ(JsonNumber("1e99999999999999999999"), kInfinity);
  EXPECT_EQ(JsonNumber("1e-99999999999999999999"), 0.0);
  EXPECT_EQ(JsonNumber("0e99999999999999999999"), 0.0);
  // The largest and smallest exponents of 64 bits, with the first digit on either side of the dot.
  EXPECT_EQ(JsonNumber("1e9223372036854775807"), kInfinity);
  EXPECT_EQ(JsonNumber("12e9223372036854775806"), kInfinity);
  EXPECT_EQ(JsonNumber("-12.5e9223372036854775807"), -kInfinity);
  EXPECT_EQ(JsonNumber("0.01e-9223372036854775807"), 0.0);
  EXPECT_EQ(JsonNumber("0.0001e-9223372036854775808"), 0.0);
  EXPECT_EQ(JsonNumber("12e-9223372036854775808"), 0.0);
  EXPECT_EQ(JsonNumber("0." + std::string(400, '0') + "1e401"), 1.0);
}

TEST(CompareJsonString, ComparesBytesAfterUnescaping) {
  EXPECT_EQ(CompareJsonString("abc", "abc"), 0);
  EXPECT_EQ(CompareJsonString(R"(\u0061b\n\t\/\\\")", "ab\n\t/\\\""), 0);
  EXPECT_EQ(CompareJsonString(R"(\u00e4\u20ac\ud83d\ude00)", "ä€😀"), 0);
  EXPECT_EQ(CompareJsonString(R"(\ud83dx\ude00)", "\uFFFDx\uFFFD"), 0);
  EXPECT_EQ(CompareJsonString(R"(\ud83d\ud83d\ude00)", "\uFFFD😀"), 0);
  EXPECT_LT(CompareJsonString("a", "b"), 0);
  EXPECT_LT(CompareJsonString(R"(\u0061)", "ab"), 0);
  EXPECT_GT(CompareJsonString(R"(\u0061b)", "a"), 0);
  EXPECT_GT(CompareJsonString("ä", "z"), 0);
  EXPECT_GT(CompareJsonString(R"(\u00e4)", "z"), 0);
  EXPECT_EQ(CompareJsonString("", ""), 0);
}

}  // namespace
}  // namespace seganet
