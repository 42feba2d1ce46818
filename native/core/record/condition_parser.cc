// The parser of conditions and paths. Its depth of recursion is at most kMaxConditionDepth.
#include <algorithm>
#include <charconv>
#include <utility>

#include "core/base/utf8.h"
#include "core/record/condition.h"
#include "core/record/json.h"

namespace seganet {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
}
bool IsName(char c) { return IsNameStart(c) || IsDigit(c); }

bool IsKeyword(std::string_view name) {
  for (std::string_view word : {"and", "or", "not", "exists", "true", "false", "null"}) {
    if (name == word) return true;
  }
  return false;
}

}  // namespace

class ConditionParser {
 public:
  explicit ConditionParser(std::string_view text) : text_(text) {}

  Status Run(JsonPaths* paths, Condition* condition) {
    *condition = Condition();
    paths_ = paths;
    condition_ = condition;
    if (CheckText() && Or(0) && !AtEnd()) {
      Fail(At("&") ? "use `and`" : At("|") ? "use `or`" : "expected `and`, `or` or the end");
    }
    return Outcome();
  }

  Status RunPath(Path* path) {
    if (CheckText() && ReadPath(path) && !AtEnd()) Fail("expected the end of the path");
    return Outcome();
  }

 private:
  using Op = Condition::Op;
  using Code = Condition::Code;

  Status Outcome() const { return error_.empty() ? Status() : Status::InvalidArgument(error_); }

  // Sets the error, unless there is one. Returns false.
  bool Fail(const std::string& expected) { return FailAt(at_, expected); }
  bool FailAt(size_t at, const std::string& expected) {
    if (!error_.empty()) return false;
    size_t column = 1;
    for (size_t i = 0; i < at; ++column) i += std::max<size_t>(1, Utf8Length(text_.substr(i)));
    error_ = "column " + std::to_string(column) + ": " + expected;
    return false;
  }

  bool CheckText() {
    if (text_.size() > kMaxConditionBytes) {
      error_ = "longer than " + std::to_string(kMaxConditionBytes) + " bytes";
      return false;
    }
    for (size_t i = 0; i < text_.size();) {
      const size_t bytes = Utf8Length(text_.substr(i));
      if (bytes == 0) return FailAt(i, "not valid UTF-8");
      i += bytes;
    }
    return true;
  }

  void SkipSpace() {
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) {
      ++at_;
    }
  }
  bool AtEnd() {
    SkipSpace();
    return at_ == text_.size();
  }
  bool At(std::string_view token) {
    SkipSpace();
    return text_.substr(at_).starts_with(token);
  }
  bool Take(std::string_view token) {
    if (!At(token)) return false;
    at_ += token.size();
    return true;
  }
  // Returns the name at this place, without reading it; empty if there is none.
  std::string_view Name() {
    SkipSpace();
    size_t end = at_;
    if (end < text_.size() && IsNameStart(text_[end])) {
      while (end < text_.size() && IsName(text_[end])) ++end;
    }
    return text_.substr(at_, end - at_);
  }
  bool TakeWord(std::string_view word) {
    if (Name() != word) return false;
    at_ += word.size();
    return true;
  }

  void Emit(Code code, size_t to = 0) {
    condition_->steps_.push_back({code, static_cast<uint16_t>(to)});
  }

  // Operands of `or`, or of `and`: each but the last is followed by a skip to the end of them all.
  bool Or(size_t depth) {
    std::vector<size_t> skips;
    for (;;) {
      if (!And(depth)) return false;
      if (!TakeWord("or")) break;
      skips.push_back(condition_->steps_.size());
      Emit(Code::kSkipIfTrue);
    }
    return Land(skips);
  }
  bool And(size_t depth) {
    std::vector<size_t> skips;
    for (;;) {
      if (!Operand(depth)) return false;
      if (!TakeWord("and")) break;
      skips.push_back(condition_->steps_.size());
      Emit(Code::kSkipIfFalse);
    }
    return Land(skips);
  }
  bool Land(const std::vector<size_t>& skips) {
    for (size_t skip : skips) {
      condition_->steps_[skip].to = static_cast<uint16_t>(condition_->steps_.size());
    }
    return true;
  }

  bool Operand(size_t depth) {
    if (AtEnd()) return Fail("expected a comparison");
    if (At("!") && !At("!=")) return Fail("use `not`");
    const bool inverts = Name() == "not";
    if (inverts || At("(")) {
      if (depth == kMaxConditionDepth) {
        return Fail("more than " + std::to_string(kMaxConditionDepth) +
                    " parentheses and `not` inside each other");
      }
      if (inverts) {
        TakeWord("not");
        if (!Operand(depth + 1)) return false;
        Emit(Code::kNot);
        return true;
      }
      Take("(");
      return Or(depth + 1) && (Take(")") || Fail("expected )"));
    }
    return Term();
  }

  bool Term() {
    if (condition_->terms_.size() == kMaxConditionTerms) {
      return Fail("more than " + std::to_string(kMaxConditionTerms) + " comparisons");
    }
    Condition::Term term;
    Path path;
    const size_t start = at_;
    if (TakeWord("exists")) {
      if (!Take("(")) return Fail("expected ( after exists");
      if (!ReadPath(&path)) return false;
      if (!Take(")")) return Fail("expected )");
    } else if (!ReadPath(&path) || !ReadOp(&term.op) || !ReadConstant(&term)) {
      return false;
    }
    term.path = paths_->Add(path);
    if (term.path == kMaxPaths) {
      return FailAt(start,
                    "the conditions read more than " + std::to_string(kMaxPaths) + " values");
    }
    Emit(Code::kTerm, condition_->terms_.size());
    condition_->terms_.push_back(std::move(term));
    return true;
  }

  bool ReadOp(Op* op) {
    static constexpr std::pair<std::string_view, Op> kOps[] = {
        {"==", Op::kEqual},        {"!=", Op::kNotEqual}, {"<=", Op::kLessEqual},
        {">=", Op::kGreaterEqual}, {"<", Op::kLess},      {">", Op::kGreater}};
    for (const auto& [token, known] : kOps) {
      if (Take(token)) {
        *op = known;
        op_ = token;
        return true;
      }
    }
    return Fail(At("=") ? "use == to compare" : "expected ==, !=, <, <=, > or >=");
  }

  bool ReadConstant(Condition::Term* term) {
    const bool orders = term->op != Op::kEqual && term->op != Op::kNotEqual;
    static constexpr std::pair<std::string_view, JsonKind> kWords[] = {
        {"true", JsonKind::kTrue}, {"false", JsonKind::kFalse}, {"null", JsonKind::kNull}};
    for (const auto& [word, kind] : kWords) {
      if (Name() != word) continue;
      if (orders) return Fail(std::string(word) + " has no order: use == or !=");
      term->kind = kind;
      return TakeWord(word);
    }
    if (At("\"") || At("'")) {
      term->kind = JsonKind::kString;
      return ReadString(&term->text);
    }
    size_t end = at_;
    while (end < text_.size() && (IsName(text_[end]) || std::string_view("+-.").find(text_[end]) !=
                                                            std::string_view::npos)) {
      ++end;
    }
    const std::string_view number = text_.substr(at_, end - at_);
    bool ignored = false;
    if (number.empty() || !(number.front() == '-' || IsDigit(number.front())) ||
        !IsJson(number, &ignored)) {
      return Fail((orders ? "expected a number or a string after "
                          : "expected a number, a string, true, false or null after ") +
                  std::string(op_));
    }
    term->kind = JsonKind::kNumber;
    term->number = JsonNumber(number);
    at_ = end;
    return true;
  }

  // A string in " or ', with the escapes of JSON and \'.
  bool ReadString(std::string* text) {
    SkipSpace();
    const size_t start = at_;
    const char quote = text_[at_];
    std::string raw;
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
      const char c = text_[at_];
      if (static_cast<uint8_t>(c) < 0x20)
        return Fail("a control character in a string: use an escape");
      if (c == '\\') {
        if (!ReadEscape(&raw)) return false;
      } else {
        if (c == '"') raw += '\\';
        raw += c;
      }
    }
    if (at_ == text_.size()) return FailAt(start, "the string does not end");
    ++at_;
    JsonStringReader reader(raw);
    for (int byte = reader.Next(); byte >= 0; byte = reader.Next())
      *text += static_cast<char>(byte);
    return true;
  }

  // Reads an escape up to its last character, and appends it as JSON.
  bool ReadEscape(std::string* raw) {
    const size_t start = at_++;
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (c == '\'') {
      *raw += c;
      return true;
    }
    const std::string escape(text_.substr(start, c == 'u' ? 6 : 2));
    bool ignored = false;
    if (!IsJson('"' + escape + '"', &ignored)) return FailAt(start, "not an escape of JSON");
    *raw += escape;
    at_ = start + escape.size() - 1;
    return true;
  }

  bool ReadPath(Path* path) {
    const std::string_view name = Name();
    if (Take("$")) {
      // Steps follow.
    } else if (name == "payload") {
      at_ += name.size();
    } else if (!name.empty() && !IsKeyword(name)) {
      if (!AddName(path)) return false;
    } else if (IsKeyword(name)) {
      return Fail("a member named " + std::string(name) + " is written $." + std::string(name));
    } else {
      return Fail("expected a value of the payload, such as $.temp");
    }
    // No space inside a path, so that its end is plain.
    while (at_ < text_.size() && (text_[at_] == '.' || text_[at_] == '[')) {
      if (!(text_[at_++] == '.' ? AddName(path) : ReadBracket(path))) return false;
    }
    return true;
  }

  bool AddStep(Path* path, PathStep step, size_t at) {
    if (path->size() == kMaxPathSteps) {
      return FailAt(at, "a path has at most " + std::to_string(kMaxPathSteps) + " steps");
    }
    if (step.name.size() > kMaxMemberBytes) {
      return FailAt(at, "a name has at most " + std::to_string(kMaxMemberBytes) + " bytes");
    }
    path->push_back(std::move(step));
    return true;
  }

  bool AddName(Path* path) {
    const size_t start = at_;
    const bool spaced = At("") && at_ != start;
    const std::string_view name = spaced ? std::string_view() : Name();
    if (name.empty()) return FailAt(start, "expected a name after .");
    at_ += name.size();
    return AddStep(path, {.is_member = true, .name = std::string(name)}, start);
  }

  bool ReadBracket(Path* path) {
    const size_t start = at_;
    PathStep step;
    if (At("\"") || At("'")) {
      if (!ReadString(&step.name)) return false;
    } else {
      const char* const end = text_.data() + text_.size();
      const auto [last, error] = std::from_chars(text_.data() + at_, end, step.element);
      if (error == std::errc::invalid_argument) {
        return Fail("expected an index or a quoted name after [");
      }
      if (error != std::errc() || step.element > kMaxElement) {
        return Fail("an index is at most " + std::to_string(kMaxElement));
      }
      step.is_member = false;
      at_ = static_cast<size_t>(last - text_.data());
    }
    if (!Take("]")) return Fail("expected ]");
    return AddStep(path, std::move(step), start);
  }

  const std::string_view text_;
  size_t at_ = 0;
  std::string_view op_;  // the latest operator
  std::string error_;
  JsonPaths* paths_ = nullptr;
  Condition* condition_ = nullptr;
};

Status Condition::Parse(std::string_view text, JsonPaths* paths, Condition* condition) {
  return ConditionParser(text).Run(paths, condition);
}

Status ParsePath(std::string_view text, Path* path) { return ConditionParser(text).RunPath(path); }

}  // namespace seganet
