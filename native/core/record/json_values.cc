#include "core/record/json_values.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

#include "core/base/require.h"
#include "core/record/json_scanner.h"

namespace seganet {
namespace {

// Sorts names by length first, because most comparisons then need no bytes.
bool Before(std::string_view a, std::string_view b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

// Appends a code point as UTF-8. Returns its length.
int Utf8(uint32_t code, uint8_t* to) {
  if (code < 0x80) {
    to[0] = static_cast<uint8_t>(code);
    return 1;
  }
  const int bytes = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  static constexpr uint8_t kLead[] = {0, 0, 0xC0, 0xE0, 0xF0};
  for (int i = bytes - 1; i > 0; --i, code >>= 6) to[i] = static_cast<uint8_t>(0x80 | (code & 63));
  to[0] = static_cast<uint8_t>(kLead[bytes] | code);
  return bytes;
}

// True if a number that no double can hold is too large, false if it is too small.
bool IsHuge(std::string_view text) {
  // Far beyond the bytes of any payload, so that the sum below cannot overflow and keeps its sign.
  constexpr int64_t kMostExponent = int64_t{1} << 40;
  int64_t exponent = 0;
  const size_t e = text.find_first_of("eE");
  if (e != std::string_view::npos) {
    std::string_view digits = text.substr(e + 1);
    if (digits.front() == '+') digits.remove_prefix(1);
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (result.ec != std::errc()) return digits.front() != '-';
    exponent = std::clamp(exponent, -kMostExponent, kMostExponent);
  }
  const std::string_view mantissa = text.substr(0, e);
  const size_t dot = std::min(mantissa.find('.'), mantissa.size());
  const size_t digit = mantissa.find_first_of("123456789");
  const auto from_dot = static_cast<int64_t>(dot) - static_cast<int64_t>(digit);
  return exponent + from_dot > 0;
}

}  // namespace

double JsonNumber(std::string_view text) {
  const char* const end = text.data() + text.size();
  double number = 0;
  if (std::from_chars(text.data(), end, number).ec == std::errc()) return number;
  const double size = IsHuge(text) ? std::numeric_limits<double>::infinity() : 0.0;
  return text.front() == '-' ? -size : size;
}

int JsonStringReader::Next() {
  if (waits_ > 0) return waiting_[--waits_];
  if (rest_.empty()) return -1;
  const auto c = static_cast<uint8_t>(rest_.front());
  rest_.remove_prefix(1);
  return c == '\\' ? Escape() : c;
}

uint32_t JsonStringReader::Hex4() {
  uint32_t code = 0;
  std::from_chars(rest_.data(), rest_.data() + 4, code, 16);
  rest_.remove_prefix(4);
  return code;
}

int JsonStringReader::Escape() {
  const char c = rest_.front();
  rest_.remove_prefix(1);
  switch (c) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'u':
      break;
    default:
      return static_cast<uint8_t>(c);
  }
  uint32_t code = Hex4();
  if (code >= 0xD800 && code < 0xE000) {
    JsonStringReader after = *this;
    uint32_t low = 0;
    if (code < 0xDC00 && after.rest_.starts_with("\\u")) {
      after.rest_.remove_prefix(2);
      low = after.Hex4();
    }
    if (low >= 0xDC00 && low < 0xE000) {
      rest_ = after.rest_;
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else {
      code = 0xFFFD;
    }
  }
  uint8_t bytes[4];
  const int size = Utf8(code, bytes);
  for (int i = size - 1; i > 0; --i) waiting_[waits_++] = bytes[i];
  return bytes[0];
}

int CompareJsonString(std::string_view raw, std::string_view text) {
  if (std::memchr(raw.data(), '\\', raw.size()) == nullptr) return raw.compare(text);
  JsonStringReader reader(raw);
  for (const char c : text) {
    const int byte = reader.Next();
    if (byte < 0) return -1;
    if (const int difference = byte - static_cast<uint8_t>(c); difference != 0) return difference;
  }
  return reader.Next() < 0 ? 0 : 1;
}

JsonPaths::JsonPaths() : places_(1) {}

size_t JsonPaths::Child(size_t place, const PathStep& step) {
  SEGANET_REQUIRE(step.name.size() <= kMaxMemberBytes && step.element <= kMaxElement);
  const auto find = [&](auto* children, const auto& key) {
    for (const auto& [known, child] : *children) {
      if (known == key) return child;
    }
    const size_t made = places_.size();
    children->emplace_back(key, made);
    return made;
  };
  const size_t child = step.is_member ? find(&places_[place].members, step.name)
                                      : find(&places_[place].elements, step.element);
  if (child == places_.size()) places_.emplace_back();
  return child;
}

size_t JsonPaths::Add(const Path& path) {
  SEGANET_REQUIRE(path.size() <= kMaxPathSteps && positions_.empty());
  size_t place = 0;
  for (const PathStep& step : path) place = Child(place, step);
  if (places_[place].path == kNone) {
    if (paths_ == kMaxPaths) return kMaxPaths;
    places_[place].path = paths_++;
  }
  return places_[place].path;
}

// The depth of the recursion is at most kMaxPathSteps.
void JsonPaths::Number(size_t at, size_t* position) {
  Place& place = places_[at];
  place.first = *position;
  if (place.path != kNone) positions_[place.path] = (*position)++;
  for (const auto& [name, child] : place.members) Number(child, position);
  for (const auto& [element, child] : place.elements) Number(child, position);
  place.last = *position;
  std::sort(place.members.begin(), place.members.end(),
            [](const auto& a, const auto& b) { return Before(a.first, b.first); });
  std::sort(place.elements.begin(), place.elements.end());
}

void JsonPaths::Build() {
  positions_.resize(paths_);
  size_t position = 0;
  Number(0, &position);
}

const JsonPaths::Place* JsonPaths::Member(const Place& place, std::string_view raw) const {
  if (place.members.empty()) return nullptr;
  char unescaped[kMaxMemberBytes];
  if (std::memchr(raw.data(), '\\', raw.size()) != nullptr) {
    JsonStringReader reader(raw);
    size_t size = 0;
    for (int byte = reader.Next(); byte >= 0; byte = reader.Next()) {
      if (size == kMaxMemberBytes) return nullptr;
      unescaped[size++] = static_cast<char>(byte);
    }
    raw = {unescaped, size};
  }
  const auto it = std::lower_bound(
      place.members.begin(), place.members.end(), raw,
      [](const auto& member, std::string_view name) { return Before(member.first, name); });
  return it == place.members.end() || it->first != raw ? nullptr : &places_[it->second];
}

const JsonPaths::Place* JsonPaths::Element(const Place& place, uint32_t element) const {
  const auto it =
      std::lower_bound(place.elements.begin(), place.elements.end(), element,
                       [](const auto& child, uint32_t index) { return child.first < index; });
  return it == place.elements.end() || it->first != element ? nullptr : &places_[it->second];
}

// Follows the places while the payload is scanned.
class JsonPaths::Reader {
 public:
  Reader(const JsonPaths& paths, JsonValues* values)
      : paths_(paths), values_(values), value_(&paths.places_[0]) {}

  void Enter(bool object, const char* start) {
    if (value_ != nullptr && value_->path != kNone) {
      values_->kinds_[value_->first] = object ? JsonKind::kObject : JsonKind::kArray;
      values_->starts_[value_->first] = start;
    }
    Level& level = levels_[depth_++];
    level = {value_, 0};
    value_ = value_ == nullptr || object ? nullptr : paths_.Element(*value_, 0);
  }

  void Leave(const char* end) {
    const Place* const place = levels_[--depth_].place;
    if (place == nullptr || place->path == kNone) return;
    values_->sizes_[place->first] = static_cast<uint32_t>(end - values_->starts_[place->first]);
  }

  void Key(std::string_view raw) {
    const Place* const object = levels_[depth_ - 1].place;
    value_ = object == nullptr ? nullptr : paths_.Member(*object, raw);
    // An earlier member of this name does not count.
    if (value_ != nullptr) paths_.Clear(*value_, values_);
  }

  void Element() {
    Level& level = levels_[depth_ - 1];
    value_ = level.place == nullptr ? nullptr : paths_.Element(*level.place, ++level.element);
  }

  void Scalar(std::string_view raw) {
    if (value_ == nullptr || value_->path == kNone) return;
    const size_t at = value_->first;
    JsonKind& kind = values_->kinds_[at];
    switch (raw.front()) {
      case 'n':
        kind = JsonKind::kNull;
        break;
      case 't':
        kind = JsonKind::kTrue;
        break;
      case 'f':
        kind = JsonKind::kFalse;
        break;
      case '"':
        kind = JsonKind::kString;
        raw = raw.substr(1, raw.size() - 2);
        break;
      default:
        kind = JsonKind::kNumber;
        values_->numbers_[at] = JsonNumber(raw);
    }
    values_->starts_[at] = raw.data();
    values_->sizes_[at] = static_cast<uint32_t>(raw.size());
  }

 private:
  struct Level {
    const Place* place;  // null = no path leads into it
    uint32_t element;
  };

  const JsonPaths& paths_;
  JsonValues* const values_;
  const Place* value_;  // place of the next value; null = no path leads to it
  Level levels_[kMaxJsonDepth];
  int depth_ = 0;
};

void JsonPaths::Clear(const Place& place, JsonValues* values) const {
  std::fill(values->kinds_ + place.first, values->kinds_ + place.last, JsonKind::kMissing);
}

bool JsonPaths::Read(std::string_view payload, JsonValues* values) const {
  SEGANET_REQUIRE(positions_.size() == paths_);
  Clear(places_[0], values);
  Reader reader(*this, values);
  if (json::Scanner(payload, &reader).Value()) return true;
  Clear(places_[0], values);
  return false;
}

}  // namespace seganet
