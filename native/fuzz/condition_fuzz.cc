// Compiles any condition, evaluates it on any payload, and checks laws that hold for all of them.
// Input: condition, NUL, payload.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/record/condition.h"
#include "core/record/json.h"

namespace {

using seganet::Condition, seganet::JsonPaths, seganet::JsonValues;

void Check(bool law) {
  if (!law) std::abort();
}

// Returns whether the condition holds; `*ok` = false: it is not valid.
bool Holds(const std::string& text, std::string_view payload, bool* ok) {
  JsonPaths paths;
  Condition condition;
  const seganet::Status status = Condition::Parse(text, &paths, &condition);
  *ok = status.ok();
  Check(*ok == status.message().empty());
  if (!*ok) return false;
  paths.Build();
  JsonValues values;
  bool ignored = false;
  Check(paths.Read(payload, &values) == seganet::IsJson(payload, &ignored));
  return condition.Holds(paths, values);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t split = input.find('\0');
  const std::string text(input.substr(0, split));
  const std::string_view payload =
      split == std::string_view::npos ? std::string_view() : input.substr(split + 1);

  bool ok = false, longer_ok = false;
  const bool holds = Holds(text, payload, &ok);
  bool ignored = false;
  const bool is_json = seganet::IsJson(payload, &ignored);
  // What is not a condition can become one inside parentheses: a == 1) or (b == 1
  if (ok) {
    // A longer condition may exceed a limit.
    const bool inverse = Holds("not (" + text + ")", payload, &longer_ok);
    if (longer_ok) Check(inverse == !holds);
    const bool never = Holds("(" + text + ") and not exists($)", payload, &longer_ok);
    if (longer_ok) Check(never == (holds && !is_json));
    const bool either = Holds("(" + text + ") or exists($)", payload, &longer_ok);
    if (longer_ok) Check(either == (holds || is_json));
  }

  seganet::Path path;
  if (seganet::ParsePath(text, &path).ok()) {
    Check(path.size() <= seganet::kMaxPathSteps);
    Holds("exists(" + text + ")", payload, &longer_ok);
    Check(longer_ok || text.size() + 8 > seganet::kMaxConditionBytes);
  }
  return 0;
}
