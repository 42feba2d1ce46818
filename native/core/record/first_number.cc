#include "core/record/first_number.h"

#include <cmath>

#include "core/record/json_scanner.h"
#include "core/record/json_values.h"

namespace seganet {
namespace {

struct FirstNumberVisitor : json::NoVisitor {
  void Key(std::string_view raw) { is_time = raw == "ts" || raw == "time" || raw == "timestamp"; }
  void Scalar(std::string_view raw) {
    const char c = raw.front();
    if (number.empty() && !is_time && (c == '-' || (c >= '0' && c <= '9'))) number = raw;
    is_time = false;
  }

  std::string_view number;
  bool is_time = false;  // the next value belongs to a member that tells the time
};

}  // namespace

std::optional<double> FirstNumber(std::string_view payload) {
  FirstNumberVisitor visitor;
  if (!json::Scanner(payload, &visitor).Value() || visitor.number.empty()) return {};
  const double number = JsonNumber(visitor.number);
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

}  // namespace seganet
