#include "core/encoding/cbor_json.h"

#include <algorithm>
#include <cstdint>

#include "core/encoding/cbor_items.h"
#include "core/record/json_scanner.h"

namespace seganet {

// Writes each part as it comes. An array or object gets a head of one byte, which is replaced when
// its size is known.
class CborFromJson::Visitor {
 public:
  Visitor(CborFromJson* from, std::string* out) : from_(*from), out_(*out) {}

  bool is_exact() const { return is_exact_; }

  void Enter(bool is_object, const char* /*start*/) {
    CountElement();
    from_.levels_[depth_++] = {is_object, out_.size(), from_.keys_.size(), 0};
    out_.push_back('\0');
  }

  void Leave(const char* /*end*/) {
    const Level& level = from_.levels_[--depth_];
    if (level.is_object && HasTwins(level)) is_exact_ = false;
    from_.keys_.resize(level.keys_from);
    head_.clear();
    const cbor::Major major = level.is_object ? cbor::Major::kMap : cbor::Major::kArray;
    cbor::AppendHead(major, level.count, &head_);
    out_.replace(level.head_at, 1, head_);
  }

  void Key(std::string_view raw) {
    ++from_.levels_[depth_ - 1].count;
    const size_t at = out_.size();
    if (!cbor::AppendJsonText(raw, &out_)) is_exact_ = false;
    from_.keys_.push_back({at, out_.size() - at});
  }

  void Element() {}

  void Scalar(std::string_view raw) {
    CountElement();
    switch (raw.front()) {
      case '"':
        if (!cbor::AppendJsonText(raw.substr(1, raw.size() - 2), &out_)) is_exact_ = false;
        return;
      case 't':
        out_.push_back(cbor::kTrue);
        return;
      case 'f':
        out_.push_back(cbor::kFalse);
        return;
      case 'n':
        out_.push_back(cbor::kNull);
        return;
      default:
        if (!cbor::AppendJsonNumber(raw, &out_)) is_exact_ = false;
    }
  }

 private:
  void CountElement() {
    if (depth_ > 0 && !from_.levels_[depth_ - 1].is_object) ++from_.levels_[depth_ - 1].count;
  }

  // True if two members have the same name.
  bool HasTwins(const Level& level) {
    if (level.count < 2) return false;
    auto& sorted = from_.sorted_;
    sorted.clear();
    for (size_t i = level.keys_from; i < from_.keys_.size(); ++i) {
      const Span& key = from_.keys_[i];
      sorted.push_back(std::string_view(out_).substr(key.at, key.size));
    }
    std::sort(sorted.begin(), sorted.end());
    return std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
  }

  CborFromJson& from_;
  std::string& out_;
  std::string head_;
  size_t depth_ = 0;
  bool is_exact_ = true;
};

CborFromJson::Result CborFromJson::Append(std::string_view json, std::string* out) {
  const size_t before = out->size();
  keys_.clear();
  Visitor visitor(this, out);
  json::Scanner scanner(json, &visitor);
  const bool is_json = scanner.Value();
  if (is_json && visitor.is_exact()) return Result::kDone;
  out->resize(before);
  return is_json ? Result::kInexact : Result::kNotJson;
}

}  // namespace seganet
