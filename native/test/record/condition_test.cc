#include "core/record/condition.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/record/rules.h"
#include "test/support/support.h"

namespace seganet {
namespace {

std::string Problem(std::string_view text) {
  JsonPaths paths;
  Condition condition;
  return Condition::Parse(text, &paths, &condition).message();
}

bool Holds(std::string_view text, std::string_view payload) {
  JsonPaths paths;
  Condition condition;
  const Status status = Condition::Parse(text, &paths, &condition);
  EXPECT_TRUE(status.ok()) << text << ": " << status.message();
  if (!status.ok()) return false;
  paths.Build();
  JsonValues values;
  paths.Read(payload, &values);
  return condition.Holds(paths, values);
}

TEST(Condition, ComparesNumbers) {
  EXPECT_TRUE(Holds("value > 80", R"({"value":80.5})"));
  EXPECT_FALSE(Holds("value > 80", R"({"value":80})"));
  EXPECT_TRUE(Holds("value >= 80", R"({"value":8e1})"));
  EXPECT_TRUE(Holds("$ < -1.5e1", "-16"));
  EXPECT_TRUE(Holds("payload <= 21.5", "21.5"));
  EXPECT_TRUE(Holds("$.sensors[0].temp >= 30.5", R"({"sensors":[{"temp":30.5}]})"));
  EXPECT_TRUE(Holds("v == 0", R"({"v":-0.0})"));
  EXPECT_TRUE(Holds("v != 1", R"({"v":2})"));
}

TEST(Condition, ComparesStringsByBytes) {
  EXPECT_TRUE(Holds("state == \"alarm\"", R"({"state":"al\u0061rm"})"));
  EXPECT_TRUE(Holds("state == 'it\\'s \"on\"'", R"({"state":"it's \"on\""})"));
  EXPECT_TRUE(Holds("state == '\\u00e4'", "{\"state\":\"\xC3\xA4\"}"));
  EXPECT_TRUE(Holds("state < 'b'", R"({"state":"abc"})"));
  EXPECT_FALSE(Holds("state < 'b'", R"({"state":"b"})"));
  EXPECT_TRUE(Holds("state > 'Z'", R"({"state":"a"})"));
}

TEST(Condition, ComparesTheWords) {
  EXPECT_TRUE(Holds("on == true", R"({"on":true})"));
  EXPECT_TRUE(Holds("on != true", R"({"on":false})"));
  EXPECT_TRUE(Holds("x == null", R"({"x":null})"));
  EXPECT_FALSE(Holds("x == null", R"({})"));
}

TEST(Condition, DifferentTypesAreNotEqualAndHaveNoOrder) {
  EXPECT_FALSE(Holds("v == 3", R"({"v":"3"})"));
  EXPECT_TRUE(Holds("v != 3", R"({"v":"3"})"));
  EXPECT_FALSE(Holds("v < 3", R"({"v":"2"})"));
  EXPECT_FALSE(Holds("v >= 'a'", R"({"v":7})"));
  EXPECT_TRUE(Holds("v != 3", R"({"v":[3]})"));
  EXPECT_FALSE(Holds("v == null", R"({"v":{}})"));
}

TEST(Condition, EveryComparisonOfNothingIsFalse) {
  for (const char* payload : {"{}", "", "plain text", "{\"v\":3", "[3]", "\x80"}) {
    EXPECT_FALSE(Holds("v == 3", payload)) << payload;
    EXPECT_FALSE(Holds("v != 3", payload)) << payload;
    EXPECT_FALSE(Holds("exists(v)", payload)) << payload;
    EXPECT_TRUE(Holds("not v == 3", payload)) << payload;
  }
}

TEST(Condition, ExistsIsTrueForAnyValue) {
  for (const char* value : {"null", "0", "\"\"", "{}", "[]", "false"}) {
    EXPECT_TRUE(Holds("exists(a.b)", std::string("{\"a\":{\"b\":") + value + "}}")) << value;
  }
  EXPECT_TRUE(Holds("exists($)", "null"));
  EXPECT_FALSE(Holds("exists(a.c)", R"({"a":{"b":1}})"));
}

TEST(Condition, AndBindsTighterThanOrAndNotTightest) {
  const auto payload = [](int a, int b, int c) {
    return "{\"a\":" + std::to_string(a) + ",\"b\":" + std::to_string(b) +
           ",\"c\":" + std::to_string(c) + "}";
  };
  for (int bits = 0; bits < 8; ++bits) {
    const int a = bits & 1, b = bits >> 1 & 1, c = bits >> 2;
    const std::string text = payload(a, b, c);
    EXPECT_EQ(Holds("a==1 or b==1 and c==1", text), a || (b && c));
    EXPECT_EQ(Holds("a==1 and b==1 or c==1", text), (a && b) || c);
    EXPECT_EQ(Holds("(a==1 or b==1) and c==1", text), (a || b) && c);
    EXPECT_EQ(Holds("not a==1 and b==1", text), !a && b);
    EXPECT_EQ(Holds("not (a==1 and b==1) or not not c==1", text), !(a && b) || c);
    EXPECT_EQ(Holds("a==1 and (b==1 or not c==1) and b==1", text), a && (b || !c) && b);
  }
}

TEST(Condition, ReadsTheWaysToWriteAPath) {
  EXPECT_TRUE(Holds("$['a b'][\"c.d\"].e == 1", R"({"a b":{"c.d":{"e":1}}})"));
  EXPECT_TRUE(Holds("größe == 1", R"({"größe":1})"));
  EXPECT_TRUE(Holds("$.payload == 1", R"({"payload":1})"));
  EXPECT_TRUE(Holds("$.and == 1 and $['not'] == 2", R"({"and":1,"not":2})"));
  EXPECT_TRUE(Holds("android == 1", R"({"android":1})"));
  EXPECT_TRUE(Holds("$[1] == 1", "[0,1]"));
}

TEST(Condition, SaysWhereAndWhy) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"", "column 1: expected a comparison"},
      {"value >", "column 8: expected a number or a string after >"},
      {"value > ", "column 9: expected a number or a string after >"},
      {"value == x", "column 10: expected a number, a string, true, false or null after =="},
      {"value > true", "column 9: true has no order: use == or !="},
      {"value = 3", "column 7: use == to compare"},
      {"value", "column 6: expected ==, !=, <, <=, > or >="},
      {"value > 3 value < 4", "column 11: expected `and`, `or` or the end"},
      {"a > 3 && b > 3", "column 7: use `and`"},
      {"a > 3 || b > 3", "column 7: use `or`"},
      {"!a", "column 1: use `not`"},
      {"a > 3 and", "column 10: expected a comparison"},
      {"3 < a", "column 1: expected a value of the payload, such as $.temp"},
      {"(a > 3", "column 7: expected )"},
      {"a > 3)", "column 6: expected `and`, `or` or the end"},
      {"exists a", "column 8: expected ( after exists"},
      {"exists(a", "column 9: expected )"},
      {"true == 1", "column 1: a member named true is written $.true"},
      {"a > 03", "column 5: expected a number or a string after >"},
      {"a > +3", "column 5: expected a number or a string after >"},
      {"a > 3x", "column 5: expected a number or a string after >"},
      {"größe > x", "column 9: expected a number or a string after >"},
      {"a == 'x", "column 6: the string does not end"},
      {"a == '\\x'", "column 7: not an escape of JSON"},
      {"a == '\\u12'", "column 7: not an escape of JSON"},
      {"a == 'x\n'", "column 8: a control character in a string: use an escape"},
      {"a.b. == 1", "column 5: expected a name after ."},
      {"a.*", "column 3: expected a name after ."},
      {"a[*] == 1", "column 3: expected an index or a quoted name after ["},
      {"a[-1] == 1", "column 3: expected an index or a quoted name after ["},
      {"a[65536] == 1", "column 3: an index is at most 65535"},
      {"a[1 == 1", "column 5: expected ]"},
      {"a == '\xFF'", "column 7: not valid UTF-8"},
  };
  for (const auto& [text, problem] : cases) EXPECT_EQ(Problem(text), problem) << text;
}

TEST(Rules, AConditionDecidesBesideTopicAndDevice) {
  const std::vector<Rule> rules = {
      {"alarm/#", "", 1, "level >= 3"}, {"", "pump-*", 2, "$ > 80"}, {"alarm/#", "", 4, ""}};
  const Classifier classifier(rules, 0);
  EXPECT_EQ(classifier.ClassOf("pump-1", "alarm/x", R"({"level":3})", 3), 1);
  EXPECT_EQ(classifier.ClassOf("pump-1", "alarm/x", R"({"level":2})", 3), 4);
  EXPECT_EQ(classifier.ClassOf("pump-1", "alarm/x", "81", 3), 2);
  EXPECT_EQ(classifier.ClassOf("fan-1", "x", "81", 3), 3);
  EXPECT_EQ(classifier.ClassOf("pump-1", "x", "81 C", 3), 3);
  EXPECT_EQ(ValidateRules({{"", "", 1, ""}, {"", "", 1, "level >"}}).message(),
            "rule 2: column 8: expected a number or a string after >");
}

TEST(Condition, EnforcesItsLimits) {
  const auto joined = [](size_t terms) {
    std::string text = "a==0";
    for (size_t i = 1; i < terms; ++i) text += " or a==" + std::to_string(i);
    return text;
  };
  EXPECT_EQ(Problem(joined(kMaxConditionTerms)), "");
  EXPECT_NE(Problem(joined(kMaxConditionTerms + 1)).find("more than 32 comparisons"),
            std::string::npos);

  const auto nested = [](size_t depth) {
    return std::string(depth, '(') + "a==0" + std::string(depth, ')');
  };
  EXPECT_EQ(Problem(nested(kMaxConditionDepth)), "");
  EXPECT_EQ(Problem(nested(kMaxConditionDepth + 1)),
            "column 17: more than 16 parentheses and `not` inside each other");

  const std::string text = "a == '" + std::string(kMaxConditionBytes - 7, 'x') + "'";
  EXPECT_EQ(Problem(text), "");
  EXPECT_EQ(Problem(text + " "), "longer than 1024 bytes");

  std::string path = "a";
  for (size_t i = 1; i < kMaxPathSteps; ++i) path += ".a";
  EXPECT_EQ(Problem("exists(" + path + ")"), "");
  EXPECT_EQ(Problem("exists(" + path + ".a)"), "column 40: a path has at most 16 steps");
  EXPECT_EQ(Problem("exists(" + std::string(257, 'a') + ")"),
            "column 8: a name has at most 256 bytes");
}

TEST(Condition, TheRulesOfAStageReadALimitedNumberOfValues) {
  const auto rules = [](size_t values) {
    std::vector<Rule> list;
    for (size_t i = 0; i < values; ++i) {
      list.push_back({"", "", 1, "m" + std::to_string(i) + " > 0"});
    }
    return list;
  };
  EXPECT_TRUE(ValidateRules(rules(kMaxPaths)).ok());
  EXPECT_EQ(ValidateRules(rules(kMaxPaths + 1)).message(),
            "rule 257: column 1: the conditions read more than 256 values");
}

TEST(ParsePath, ReadsOnePath) {
  Path path;
  ASSERT_TRUE(ParsePath("$.a[2]['b c']", &path).ok());
  EXPECT_EQ(path, (Path{{true, "a", 0}, {false, "", 2}, {true, "b c", 0}}));
  for (const auto& [text, problem] : std::vector<std::pair<const char*, const char*>>{
           {"", "column 1: expected a value of the payload, such as $.temp"},
           {"a b", "column 3: expected the end of the path"},
           {"a > 3", "column 3: expected the end of the path"}}) {
    Path ignored;
    EXPECT_EQ(ParsePath(text, &ignored).message(), problem);
  }
}

TEST(ParsePath, ReportsAnEmptyText) {
  Path path;
  EXPECT_FALSE(ParsePath(" ", &path).ok());
}

// The slow reference: a tree of the payload, and a tree of the condition, both made at random
// together with their texts.
struct Tree {
  enum class Type { kNull, kFalse, kTrue, kNumber, kString, kObject, kArray };
  Type type = Type::kNull;
  double number = 0;
  std::string text;
  std::vector<std::string> names;  // of the members; arrays: empty
  std::vector<Tree> members;
};

class Maker {
 public:
  size_t Below(size_t n) { return random_.In<size_t>(0, n - 1); }
  template <typename T>
  const T& OneOf(const std::vector<T>& list) {
    return list[Below(list.size())];
  }

  std::string Name() { return OneOf<std::string>({"a", "b", "ab", "c d", "ä", ""}); }
  std::string Word() { return OneOf<std::string>({"", "a", "b", "ab", "ä", "😀", "x\"y", "\n"}); }
  std::string NumberText() {
    return OneOf<std::string>({"0", "-0", "1", "1.0", "10e-1", "-1", "2", "1e400", "-1e400",
                               "1e-400", "9007199254740993", "9007199254740992"});
  }

  std::string Space() { return OneOf<std::string>({"", "", "", " ", "\t", "\n"}); }

  // Writes a string with random escapes.
  std::string Quoted(const std::string& text, char quote) {
    std::string out(1, quote);
    for (size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      const auto byte = static_cast<uint8_t>(c);
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", byte);
      if (c == quote) {
        out += std::string("\\") + c;
      } else if (byte < 0x20 || c == '\\' || (byte < 0x80 && Below(4) == 0)) {
        out += escape;
      } else if (text.compare(i, 4, "😀") == 0 && Below(2) == 0) {
        out += "\\ud83d\\uDE00";
        i += 3;
      } else if (text.compare(i, 2, "ä") == 0 && Below(2) == 0) {
        out += "\\u00e4";
        i += 1;
      } else {
        out += c;
      }
    }
    return out + quote;
  }

  // Makes a payload, and appends its text.
  Tree Value(int depth, std::string* out) {
    Tree tree;
    *out += Space();
    const size_t kind = Below(depth > 3 ? 5 : 9);
    if (kind < 3) {
      static constexpr const char* kWords[] = {"null", "false", "true"};
      tree.type = static_cast<Tree::Type>(kind);
      *out += kWords[kind];
    } else if (kind == 3) {
      tree.type = Tree::Type::kNumber;
      tree.text = NumberText();
      tree.number = std::strtod(tree.text.c_str(), nullptr);
      *out += tree.text;
    } else if (kind == 4) {
      tree.type = Tree::Type::kString;
      tree.text = Word();
      *out += Quoted(tree.text, '"');
    } else {
      const bool object = kind < 8;
      tree.type = object ? Tree::Type::kObject : Tree::Type::kArray;
      *out += object ? '{' : '[';
      const size_t count = Below(5);
      for (size_t i = 0; i < count; ++i) {
        if (i > 0) *out += ',';
        const std::string name = object ? Name() : "";
        if (object) *out += Space() + Quoted(name, '"') + Space() + ":";
        tree.names.push_back(name);
        tree.members.push_back(Value(depth + 1, out));
      }
      *out += Space() + (object ? '}' : ']');
    }
    *out += Space();
    return tree;
  }

  // Appends a path, and returns the value at it.
  const Tree* At(const Tree* tree, std::string* out) {
    *out += '$';
    for (int steps = 0; steps < 6 && Below(4) != 0; ++steps) {
      if (Below(3) == 0) {
        const size_t index = Below(3);
        *out += "[" + std::to_string(index) + "]";
        const bool has =
            tree != nullptr && tree->type == Tree::Type::kArray && index < tree->members.size();
        tree = has ? &tree->members[index] : nullptr;
        continue;
      }
      const std::string name = Name();
      const bool plain = name == "a" || name == "b" || name == "ab" || name == "ä";
      *out += plain && Below(2) == 0 ? "." + name : "[" + Quoted(name, Below(2) ? '"' : '\'') + "]";
      const Tree* found = nullptr;
      if (tree != nullptr && tree->type == Tree::Type::kObject) {
        for (size_t i = 0; i < tree->names.size(); ++i) {
          if (tree->names[i] == name) found = &tree->members[i];
        }
      }
      tree = found;
    }
    return tree;
  }

  // Appends a condition, and returns whether it holds.
  bool Test(const Tree& payload, int depth, std::string* out) {
    const size_t kind = depth > 3 ? 9 : Below(10);
    if (kind == 0) {
      *out += " not (";
      const bool result = !Test(payload, depth + 1, out);
      *out += ")";
      return result;
    }
    if (kind < 4) {
      const bool is_and = Below(2) == 0;
      *out += "(";
      bool result = Test(payload, depth + 1, out);
      *out += is_and ? ") and (" : ") or (";
      const bool second = Test(payload, depth + 1, out);
      *out += ")";
      return is_and ? result && second : result || second;
    }
    if (kind == 4) {
      *out += "exists(";
      const Tree* tree = At(&payload, out);
      *out += ")";
      return tree != nullptr;
    }
    return Comparison(payload, out);
  }

 private:
  bool Comparison(const Tree& payload, std::string* out) {
    const Tree* tree = At(&payload, out);
    const size_t constant = Below(5);
    static constexpr const char* kOps[] = {"==", "!=", "<", "<=", ">", ">="};
    const size_t op = Below(constant < 3 ? 2 : 6);
    *out += Space() + kOps[op] + Space();
    std::optional<int> order;  // none: different types
    if (constant < 3) {
      static constexpr const char* kWords[] = {"null", "false", "true"};
      *out += kWords[constant];
      if (tree != nullptr && tree->type == static_cast<Tree::Type>(constant)) order = 0;
    } else if (constant == 3) {
      const std::string text = NumberText();
      const double number = std::strtod(text.c_str(), nullptr);
      *out += text;
      if (tree != nullptr && tree->type == Tree::Type::kNumber) {
        order = tree->number < number ? -1 : tree->number > number;
      }
    } else {
      const std::string word = Word();
      *out += Quoted(word, Below(2) ? '"' : '\'');
      if (tree != nullptr && tree->type == Tree::Type::kString) order = tree->text.compare(word);
    }
    if (tree == nullptr) return false;
    if (!order) return op == 1;
    const bool results[] = {*order == 0, *order != 0, *order<0, *order <= 0, *order> 0,
                            *order >= 0};
    return results[op];
  }

  test::Random random_;
};

TEST(Condition, AgreesWithASlowReference) {
  Maker maker;
  size_t held = 0;
  for (int i = 0; i < 50'000; ++i) {
    std::string payload, text;
    const Tree tree = maker.Value(0, &payload);
    const bool expected = maker.Test(tree, 0, &text);
    if (text.size() > kMaxConditionBytes) continue;
    ASSERT_EQ(Holds(text, payload), expected) << text << "\non " << payload;
    held += expected;
    // Cut anywhere, or with a byte too many, it is not JSON; a number may remain one.
    if (payload.find_first_of("{[\"") == std::string::npos) continue;
    const std::string cut = payload.substr(0, payload.find_last_of("}]\""));
    ASSERT_FALSE(Holds("exists($)", cut)) << cut;
  }
  EXPECT_GT(held, 2'000u);
  EXPECT_LT(held, 48'000u);
}

}  // namespace
}  // namespace seganet
