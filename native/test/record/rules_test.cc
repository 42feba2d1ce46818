#include "core/record/rules.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "test/support/support.h"

namespace seganet {
namespace {

uint8_t Classify(std::vector<Rule> rules, uint8_t default_class, std::string_view device,
                 std::string_view topic, uint8_t current, std::string_view payload = "") {
  return Classifier(std::move(rules), default_class).ClassOf(device, topic, payload, current);
}

TEST(TopicFilter, KnowsValidOnes) {
  for (const char* good : {"a", "/", "//", "+", "#", "+/+", "/+", "+/", "a/#", "/#", "+/tennis/#",
                           "sport/+/player1", "$SYS/#", "$", "a b", "\xC3\xBC/+"}) {
    EXPECT_TRUE(ValidTopicFilter(good)) << good;
  }
  EXPECT_TRUE(ValidTopicFilter(std::string(65'535, 'a')));
}

// MQTT 3.1.1, 4.7.1.2 and 4.7.1.3, "is not valid".
TEST(TopicFilter, KnowsInvalidOnes) {
  for (const char* bad : {"", "sport/tennis#", "sport/tennis/#/ranking", "sport+", "+a", "a+/b",
                          "##", "#/", "#/#", "++", "a/b#", "#a"}) {
    EXPECT_FALSE(ValidTopicFilter(bad)) << bad;
  }
  EXPECT_FALSE(ValidTopicFilter(std::string(65'536, 'a')));
  EXPECT_FALSE(ValidTopicFilter(std::string_view("a\0b", 3)));
}

// MQTT 3.1.1, 4.7.1.2, 4.7.1.3 and 4.7.3: the examples of the specification.
TEST(TopicFilter, MatchesAsTheSpecificationSays) {
  const std::vector<std::tuple<const char*, const char*, bool>> cases = {
      {"sport/tennis/player1/#", "sport/tennis/player1", true},
      {"sport/tennis/player1/#", "sport/tennis/player1/ranking", true},
      {"sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon", true},
      {"sport/#", "sport", true},
      {"sport/#", "sports", false},
      {"#", "anything/at/all", true},
      {"sport/tennis/+", "sport/tennis/player1", true},
      {"sport/tennis/+", "sport/tennis/player2", true},
      {"sport/tennis/+", "sport/tennis/player1/ranking", false},
      {"sport/+", "sport", false},
      {"sport/+", "sport/", true},
      {"+/+", "/finance", true},
      {"/+", "/finance", true},
      {"+", "/finance", false},
      {"+/tennis/#", "a/tennis", true},
      {"ACCOUNTS", "Accounts", false},
      {"/a", "a", false},
      {"a/", "a", false},
      {"a//b", "a/b", false},
      {"a/+/b", "a//b", true},
      {"a/b", "a/b/c", false},
      {"a/b/c", "a/b", false}};
  for (const auto& [filter, topic, expected] : cases) {
    EXPECT_EQ(TopicMatches(filter, topic), expected) << filter << " on " << topic;
  }
}

// [MQTT-4.7.2-1]
TEST(TopicFilter, WildcardsInFrontLeaveDollarTopicsAlone) {
  EXPECT_FALSE(TopicMatches("#", "$SYS"));
  EXPECT_FALSE(TopicMatches("#", "$SYS/monitor/Clients"));
  EXPECT_FALSE(TopicMatches("+/monitor/Clients", "$SYS/monitor/Clients"));
  EXPECT_TRUE(TopicMatches("$SYS/#", "$SYS/monitor/Clients"));
  EXPECT_TRUE(TopicMatches("$SYS/monitor/+", "$SYS/monitor/Clients"));
  EXPECT_TRUE(TopicMatches("a/+", "a/$b"));
  EXPECT_TRUE(TopicMatches("/#", "/$b"));
}

TEST(TopicFilter, EmptyTopicsMatchOnlyWildcards) {
  EXPECT_TRUE(TopicMatches("#", ""));
  EXPECT_TRUE(TopicMatches("+", ""));
  EXPECT_FALSE(TopicMatches("a", ""));
  EXPECT_FALSE(TopicMatches("/", ""));
}

// The definition, written a second time.
bool SlowMatch(const std::vector<std::string>& filter, const std::vector<std::string>& topic,
               size_t f, size_t t) {
  if (f == filter.size()) return t == topic.size();
  if (filter[f] == "#") return true;
  if (t == topic.size()) return false;
  return (filter[f] == "+" || filter[f] == topic[t]) && SlowMatch(filter, topic, f + 1, t + 1);
}

std::vector<std::string> Levels(const std::string& text) {
  std::vector<std::string> levels(1);
  for (char c : text) {
    if (c == '/') {
      levels.emplace_back();
    } else {
      levels.back().push_back(c);
    }
  }
  return levels;
}

TEST(TopicFilter, AgreesWithTheDefinition) {
  test::Random random;
  int valid = 0, matched = 0;
  for (int i = 0; i < 200'000; ++i) {
    const std::string filter = random.Text(random.In<size_t>(1, 7), "ab/+#/");
    const std::string topic = random.Text(random.In<size_t>(0, 7), "ab//$");
    if (!ValidTopicFilter(filter)) continue;
    ++valid;
    const bool dollar = !topic.empty() && topic[0] == '$' && (filter[0] == '+' || filter[0] == '#');
    const bool expected = !dollar && SlowMatch(Levels(filter), Levels(topic), 0, 0);
    ASSERT_EQ(TopicMatches(filter, topic), expected) << filter << " on " << topic;
    matched += expected;
  }
  EXPECT_GT(valid, 10'000);
  EXPECT_GT(matched, 100);
}

TEST(Glob, MatchesTheWholeText) {
  EXPECT_TRUE(GlobMatches("*", ""));
  EXPECT_TRUE(GlobMatches("", ""));
  EXPECT_FALSE(GlobMatches("", "a"));
  EXPECT_FALSE(GlobMatches("?", ""));
  EXPECT_TRUE(GlobMatches("pump-*", "pump-7"));
  EXPECT_FALSE(GlobMatches("pump-*", "a-pump-7"));
  EXPECT_TRUE(GlobMatches("*-7", "pump-7"));
  EXPECT_FALSE(GlobMatches("*-7", "pump-70"));
  EXPECT_TRUE(GlobMatches("p?mp", "pump"));
  // ? is a code point, as in nodes/lib/base/glob.js.
  EXPECT_TRUE(GlobMatches("?1", "é1"));
  EXPECT_FALSE(GlobMatches("??1", "é1"));
  EXPECT_TRUE(GlobMatches("*?", "😀"));
  EXPECT_FALSE(GlobMatches("*??", "😀"));
  EXPECT_FALSE(GlobMatches("*??z*", "éz"));
  EXPECT_TRUE(GlobMatches("é*", "éa"));
  EXPECT_TRUE(GlobMatches("?a",
                          "\xC3"
                          "a"));
  EXPECT_FALSE(GlobMatches("p?mp", "pmp"));
  EXPECT_TRUE(GlobMatches("a*b*c", "a-b-b-c"));
  EXPECT_FALSE(GlobMatches("[ab]", "a"));
  EXPECT_TRUE(GlobMatches("a\\*", "a\\xyz"));  // no escapes
}

bool SlowGlob(std::string_view glob, std::string_view text) {
  if (glob.empty()) return text.empty();
  if (glob[0] == '*') {
    return SlowGlob(glob.substr(1), text) || (!text.empty() && SlowGlob(glob, text.substr(1)));
  }
  return !text.empty() && (glob[0] == '?' || glob[0] == text[0]) &&
         SlowGlob(glob.substr(1), text.substr(1));
}

TEST(Glob, AgreesWithTheDefinition) {
  test::Random random;
  for (int i = 0; i < 200'000; ++i) {
    const std::string glob = random.Text(random.In<size_t>(0, 6), "ab*?*");
    const std::string text = random.Text(random.In<size_t>(0, 8), "ab");
    ASSERT_EQ(GlobMatches(glob, text), SlowGlob(glob, text)) << glob << " on " << text;
  }
}

// Patterns on which a backtracking matcher takes exponential time: here 256 * 256 steps at most, so
// ten thousand of them end long before the test's time-out.
TEST(Glob, HostilePatternsTakePolynomialTime) {
  const std::string text(256, 'a');
  std::string glob;
  while (glob.size() < 254) glob += "a*";
  glob += "b";
  for (int i = 0; i < 10'000; ++i) ASSERT_FALSE(GlobMatches(glob, text));
  EXPECT_FALSE(GlobMatches(std::string(256, '*') + "b", text));
}

TEST(Rules, TheFirstThatMatchesDecides) {
  const std::vector<Rule> rules = {{"alarm/#", "", 1}, {"", "pump-*", 2}, {"+/bulk", "", 4}};
  EXPECT_EQ(Classify(rules, 0, "pump-1", "alarm/fire", 3), 1);
  EXPECT_EQ(Classify(rules, 0, "pump-1", "x/bulk", 3), 2);
  EXPECT_EQ(Classify(rules, 0, "fan-1", "x/bulk", 3), 4);
}

TEST(Rules, TopicAndDeviceMustBothMatch) {
  const std::vector<Rule> rules = {{"a/#", "pump-*", 1}};
  EXPECT_EQ(Classify(rules, 4, "pump-1", "a/b", 3), 1);
  EXPECT_EQ(Classify(rules, 4, "fan-1", "a/b", 3), 4);
  EXPECT_EQ(Classify(rules, 4, "pump-1", "b", 3), 4);
}

TEST(Rules, WithoutAMatchTheDefaultOrTheOldClassStays) {
  EXPECT_EQ(Classify({}, 0, "d", "t", 2), 2);
  EXPECT_EQ(Classify({}, 4, "d", "t", 2), 4);
}

TEST(Rules, ARuleWithoutConditionsMatchesEverything) {
  EXPECT_EQ(Classify({{"", "", 2}}, 4, "", "$SYS/x", 3), 2);
}

TEST(Rules, ValidationNamesTheRule) {
  const auto message = [](std::vector<Rule> rules) { return ValidateRules(rules).message(); };
  EXPECT_EQ(message({{"a/#", "b*", 1}}), "");
  EXPECT_EQ(message({{"", "", 3}, {"", "", 0}}),
            "rule 2: class must be 1 to " + std::to_string(kClasses));
  EXPECT_EQ(message({{"", "", kClasses + 1}}),
            "rule 1: class must be 1 to " + std::to_string(kClasses));
  EXPECT_EQ(message({{"a/#/b", "", 1}}), "rule 1: 'a/#/b' is not an MQTT topic filter");
  EXPECT_EQ(message({{"", std::string(257, 'a'), 1}}),
            "rule 1: device pattern longer than 256 bytes");
  EXPECT_TRUE(ValidateRules(std::vector<Rule>(kMaxRules)).ok());
  EXPECT_EQ(message(std::vector<Rule>(kMaxRules + 1)), "more than 1024 rules");
}

}  // namespace
}  // namespace seganet
