// Conditions on the payload of a record, such as `battery < 15 and rssi < -90`.
// docs/reference/rules.md has the grammar.
#ifndef SEGANET_CORE_RECORD_CONDITION_H_
#define SEGANET_CORE_RECORD_CONDITION_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/record/json_values.h"

namespace seganet {

// Limits of one condition: bytes of its text; comparisons and exists(…); parentheses and `not`
// inside each other.
inline constexpr size_t kMaxConditionBytes = 1024;
inline constexpr size_t kMaxConditionTerms = 32;
inline constexpr size_t kMaxConditionDepth = 16;

// A condition, compiled to a flat program. Thread safety: immutable after Parse().
class Condition {
 public:
  // Compiles `text`, and adds the paths that it reads to `paths`. On failure, the message gives the
  // column (in characters, from 1) and what was expected there, and `condition` must not be used.
  static Status Parse(std::string_view text, JsonPaths* paths, Condition* condition);

  // True if the condition holds for the payload that was read. A comparison is false if there is no
  // value at its path, and therefore if the payload is not JSON. REQUIRES: paths.Read(…, &values),
  // with the paths of Parse().
  bool Holds(const JsonPaths& paths, const JsonValues& values) const;

 private:
  friend class ConditionParser;

  enum class Op : uint8_t {
    kExists,
    kEqual,
    kNotEqual,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual
  };

  // A comparison of the value at a path with a constant.
  struct Term {
    Op op = Op::kExists;
    JsonKind kind = JsonKind::kMissing;  // of the constant
    size_t path = 0;
    double number = 0;
    std::string text;
  };

  // The program has one register, the latest result.
  enum class Code : uint8_t { kTerm, kNot, kSkipIfFalse, kSkipIfTrue };
  struct Step {
    Code code = Code::kTerm;
    uint16_t to = 0;  // kTerm: index in terms_; skips: index in steps_
  };

  static bool Compare(const Term& term, const JsonPaths& paths, const JsonValues& values);

  std::vector<Term> terms_;
  std::vector<Step> steps_;
};

// Parses a path alone, such as `$.sensors[0].temp`; messages as in Condition::Parse.
Status ParsePath(std::string_view text, Path* path);

}  // namespace seganet

#endif  // SEGANET_CORE_RECORD_CONDITION_H_
