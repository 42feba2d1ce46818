#include "core/record/json.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/base/utf8.h"
#include "test/support/support.h"

namespace seganet {
namespace {

bool Json(std::string_view text) {
  bool has_newline = false;
  return IsJson(text, &has_newline);
}

// RFC 8259: values that a parser must accept.
TEST(Json, TakesValidValues) {
  for (const char* good : {"null",
                           "true",
                           "false",
                           "0",
                           "-0",
                           "1",
                           "-1",
                           "10",
                           "123456789012345678901234567890",
                           "0.5",
                           "-0.5",
                           "1e5",
                           "1E+5",
                           "1e-5",
                           "0e0",
                           "1.25e300",
                           "-0.0e-0",
                           "\"\"",
                           "\"a\"",
                           "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
                           "\"\\u0000\"",
                           "\"\\uD83D\\uDE00\"",
                           "\"\\udead\"",
                           "\"\\uaBcD\"",
                           "\"\x7F\"",
                           "\"\xC3\xBC\"",
                           "\"\xF0\x9F\x8C\xA1\"",
                           "\"\xF4\x8F\xBF\xBF\"",
                           "[]",
                           "[ ]",
                           "{}",
                           "{ }",
                           "[1]",
                           "[1,2]",
                           "[[],{},[[]]]",
                           "{\"a\":1}",
                           "{\"a\":{\"b\":[1,{}]},\"a\":2}",
                           "{\"\":0}",
                           " 1 ",
                           "\t[1 , 2]\t",
                           "[1\n,2]",
                           " { \"a\" : [ ] , \"b\" : { } } ",
                           "[true,false,null]",
                           "\"//\"",
                           "[-1,-2.5e1]"}) {
    EXPECT_TRUE(Json(good)) << good;
  }
}

// Values that it must refuse.
TEST(Json, RefusesInvalidValues) {
  for (const char* bad : {"",
                          " ",
                          "nul",
                          "nulll",
                          "True",
                          "TRUE",
                          "undefined",
                          "NaN",
                          "Infinity",
                          "-Infinity",
                          "-",
                          "+1",
                          "01",
                          "-01",
                          "00",
                          "1.",
                          ".5",
                          "-.5",
                          "1e",
                          "1e+",
                          "1e5.5",
                          "0x1",
                          "1 2",
                          "1,",
                          "--1",
                          "1e5e5",
                          "0.",
                          "2.e3",
                          "\"",
                          "\"a",
                          "'a'",
                          "\"\\\"",
                          "\"\\x\"",
                          "\"\\u\"",
                          "\"\\u12\"",
                          "\"\\u123g\"",
                          "\"\\u 123\"",
                          "\"a\nb\"",
                          "\"a\tb\"",
                          "\"\x1F\"",
                          "\"\\\n\"",
                          "[",
                          "]",
                          "[1",
                          "[1,",
                          "[1,]",
                          "[,1]",
                          "[,]",
                          "[1 2]",
                          "[1,,2]",
                          "[1]]",
                          "[}",
                          "{]",
                          "{",
                          "}",
                          "{\"a\"",
                          "{\"a\":",
                          "{\"a\":1",
                          "{\"a\":1,",
                          "{\"a\":1,}",
                          "{,}",
                          "{\"a\"}",
                          "{\"a\",1}",
                          "{a:1}",
                          "{1:1}",
                          "{\"a\":1 \"b\":2}",
                          "{\"a\"::1}",
                          "{\"a\":,}",
                          "{null:1}",
                          "[\"a\":1]",
                          "[1}",
                          "{\"a\":1]",
                          "[] []",
                          "{}{}",
                          "1 true",
                          "[1]x",
                          "// c\n1",
                          "/**/1",
                          "[\f1]",
                          "\xA0"
                          "1",
                          "\xEF\xBB\xBF"
                          "1",
                          "nan",
                          "tru",
                          "[tru]",
                          "[nul]",
                          "t",
                          "[t"}) {
    EXPECT_FALSE(Json(bad)) << bad;
  }
  EXPECT_FALSE(Json(std::string_view("\0", 1)));
  EXPECT_FALSE(Json(std::string_view("1\0", 2)));
  EXPECT_FALSE(Json(std::string_view("\"\0\"", 3)));
}

// RFC 3629: overlong, surrogate, too large, cut off, stray.
TEST(Json, RefusesIllFormedUtf8InStrings) {
  for (const char* bad :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC3", "\xC3(", "\xE0\x9F\xBF", "\xE2\x82",
        "\xED\xA0\x80", "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80",
        "\xF0\x9F\x8C", "\xFE", "\xFF", "\xF8\x88\x80\x80\x80"}) {
    EXPECT_FALSE(Json("\"" + std::string(bad) + "\"")) << testing::PrintToString(bad);
    EXPECT_FALSE(Json("{\"" + std::string(bad) + "\":1}"));
    EXPECT_EQ(Utf8Length(bad), 0u);
  }
  EXPECT_EQ(Utf8Length(""), 0u);
  EXPECT_EQ(Utf8Length("a\xFF"), 1u);
  EXPECT_EQ(Utf8Length("\xED\x9F\xBF"), 3u);
  EXPECT_EQ(Utf8Length("\xEE\x80\x80"), 3u);
}

TEST(Json, NestingEndsAtTheLimit) {
  const auto nested = [](size_t depth, char open, char close) {
    return std::string(depth, open) + std::string(depth, close);
  };
  EXPECT_TRUE(Json(nested(kMaxJsonDepth, '[', ']')));
  EXPECT_FALSE(Json(nested(kMaxJsonDepth + 1, '[', ']')));
  EXPECT_FALSE(Json(nested(1'000'000, '[', ']')));
  EXPECT_FALSE(Json(std::string(1'000'000, '[')));
  std::string objects;
  for (int i = 0; i < kMaxJsonDepth - 1; ++i) objects += "{\"a\":";
  EXPECT_TRUE(Json(objects + "{}" + std::string(kMaxJsonDepth - 1, '}')));
  EXPECT_FALSE(Json(objects + "{\"a\":[]}" + std::string(kMaxJsonDepth - 1, '}')));
  // Levels remember their kind to the bottom.
  std::string mixed;
  for (int i = 0; i < kMaxJsonDepth; ++i) mixed += i % 2 ? "[" : "{\"a\":";
  mixed += "1";
  for (int i = kMaxJsonDepth; i-- > 0;) mixed += i % 2 ? "]" : "}";
  EXPECT_TRUE(Json(mixed));
  mixed[mixed.size() - 1] = ']';
  EXPECT_FALSE(Json(mixed));
}

TEST(Json, TellsOfRawLineBreaks) {
  const auto newline = [](std::string_view text) {
    bool has_newline = false;
    EXPECT_TRUE(IsJson(text, &has_newline)) << text;
    return has_newline;
  };
  EXPECT_FALSE(newline("{\"a\": \"\\n\\r\"}"));
  EXPECT_FALSE(newline("[1,\t2]"));
  for (const char* broken : {"\n1", "1\n", "[\n]", "{\r}", "[1\r,2]", "[1,\n2]", "{\n\"a\":1}",
                             "{\"a\"\n:1}", "{\"a\":\n1}", "{\"a\":1\n}", "{\"a\":1,\r\"b\":2}"}) {
    EXPECT_TRUE(newline(broken)) << testing::PrintToString(broken);
  }
}

// When cut anywhere, a value that ends with a bracket is no longer a value, and nothing is read
// beyond the end (ASan: the copy is as long as the view).
TEST(Json, EveryCutIsRefused) {
  const std::string whole =
      "{\"a\":[1,-2.5e+3,\"x\\u00e9\\n\xF0\x9F\x8C\xA1\",true,false,null,{}],\"b\":{}}";
  ASSERT_TRUE(Json(whole));
  for (size_t length = 0; length < whole.size(); ++length) {
    const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length));
    EXPECT_FALSE(Json(std::string_view(cut.data(), cut.size()))) << length;
  }
}

TEST(Json, StringsEscapeWhatTheyMust) {
  const auto quoted = [](std::string_view text) {
    std::string out;
    AppendJsonString(text, &out);
    return out;
  };
  EXPECT_EQ(quoted(""), "\"\"");
  EXPECT_EQ(quoted("a/b c"), "\"a/b c\"");
  EXPECT_EQ(quoted("\"\\"), "\"\\\"\\\\\"");
  EXPECT_EQ(quoted(std::string_view("\0\n\x1F\x7F", 4)), "\"\\u0000\\u000a\\u001f\x7F\"");
  EXPECT_EQ(quoted("\xC3\xBC\xF0\x9F\x8C\xA1"), "\"\xC3\xBC\xF0\x9F\x8C\xA1\"");
  EXPECT_EQ(quoted("a\xFF\xC3"), "\"a\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

TEST(Json, AnyBytesAsAStringAreJson) {
  test::Random random;
  for (int i = 0; i < 20'000; ++i) {
    const std::string bytes = random.Bytes(random.In<size_t>(0, 20));
    std::string out;
    AppendJsonString(bytes, &out);
    bool has_newline = true;
    ASSERT_TRUE(IsJson(out, &has_newline)) << testing::PrintToString(bytes);
    ASSERT_FALSE(has_newline);
    ASSERT_EQ(out.find('\n'), std::string::npos);
  }
}

// RFC 4648, section 10, and the whole alphabet.
TEST(Base64, GivesTheVectorsOfTheRfc) {
  const auto encoded = [](std::string_view bytes) {
    std::string out = "x";
    AppendBase64(bytes, &out);
    return out.substr(1);
  };
  EXPECT_EQ(encoded(""), "");
  EXPECT_EQ(encoded("f"), "Zg==");
  EXPECT_EQ(encoded("fo"), "Zm8=");
  EXPECT_EQ(encoded("foo"), "Zm9v");
  EXPECT_EQ(encoded("foob"), "Zm9vYg==");
  EXPECT_EQ(encoded("fooba"), "Zm9vYmE=");
  EXPECT_EQ(encoded("foobar"), "Zm9vYmFy");
  EXPECT_EQ(encoded(std::string_view("\xFF\xEF\xBE\xFB\xF0\0", 6)), "/++++/AA");
  EXPECT_EQ(encoded(std::string_view("\0", 1)), "AA==");
}

}  // namespace
}  // namespace seganet
