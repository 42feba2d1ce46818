#include "core/record/condition.h"

#include "core/base/require.h"

namespace seganet {

bool Condition::Compare(const Term& term, const JsonPaths& paths, const JsonValues& values) {
  const JsonKind kind = values.KindOf(paths, term.path);
  if (kind == JsonKind::kMissing) return false;
  if (term.op == Op::kExists) return true;
  // Values of different types have no order, and are not equal.
  if (kind != term.kind) return term.op == Op::kNotEqual;
  int order = 0;
  if (kind == JsonKind::kNumber) {
    const double number = values.NumberOf(paths, term.path);
    order = number < term.number ? -1 : number > term.number ? 1 : 0;
  } else if (kind == JsonKind::kString) {
    order = CompareJsonString(values.TextOf(paths, term.path), term.text);
  }
  switch (term.op) {
    case Op::kExists:
      return true;
    case Op::kEqual:
      return order == 0;
    case Op::kNotEqual:
      return order != 0;
    case Op::kLess:
      return order < 0;
    case Op::kLessEqual:
      return order <= 0;
    case Op::kGreater:
      return order > 0;
    case Op::kGreaterEqual:
      return order >= 0;
  }
  return false;
}

bool Condition::Holds(const JsonPaths& paths, const JsonValues& values) const {
  SEGANET_REQUIRE(!steps_.empty());
  bool result = false;
  for (size_t i = 0; i < steps_.size();) {
    const Step& step = steps_[i];
    ++i;
    switch (step.code) {
      case Code::kTerm:
        result = Compare(terms_[step.to], paths, values);
        break;
      case Code::kNot:
        result = !result;
        break;
      case Code::kSkipIfFalse:
        if (!result) i = step.to;
        break;
      case Code::kSkipIfTrue:
        if (result) i = step.to;
        break;
    }
  }
  return result;
}

}  // namespace seganet
