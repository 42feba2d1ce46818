#include "core/encoding/sparkplug/leaves.h"

#include <algorithm>

#include "core/encoding/envelope_line.h"
#include "core/record/json_scanner.h"

namespace seganet::sparkplug {

class LeafReader::Visitor {
 public:
  explicit Visitor(LeafReader* to) : to_(*to) {}

  bool is_flat() const { return is_flat_; }

  void Enter(bool is_object, const char* start) {
    if (inner_++ > 0) return;
    start_ = start;
    is_empty_ = is_object;
    if (!is_object) return;
    // The members of an object that is no leaf are not inside anything.
    inner_ = 0;
    starts_.push_back(start);
    to_.levels_.push_back(to_.path_.size());
  }

  void Leave(const char* end) {
    if (inner_ > 0) {
      if (--inner_ == 0) AddLeaf({start_, static_cast<size_t>(end - start_)});
      return;
    }
    const char* const start = starts_.back();
    starts_.pop_back();
    to_.path_.resize(to_.levels_.back());
    to_.levels_.pop_back();
    if (is_empty_) AddLeaf({start, static_cast<size_t>(end - start)});
    is_empty_ = false;
  }

  void Key(std::string_view raw) {
    if (inner_ > 0) return;
    is_empty_ = false;
    to_.path_.resize(to_.levels_.back());
    if (to_.names_count_ == kMaxMembers) is_flat_ = false;
    if (!is_flat_) return;
    to_.scratch_.clear();
    if (!AppendUnescaped(raw, &to_.scratch_)) {
      is_flat_ = false;
      return;
    }
    to_.path_ += '/';
    // [RFC 6901 3]
    for (const char c : to_.scratch_) {
      if (c == '~') {
        to_.path_ += "~0";
      } else if (c == '/') {
        to_.path_ += "~1";
      } else {
        to_.path_ += c;
      }
    }
    if (to_.names_count_ == to_.names_.size()) to_.names_.emplace_back();
    to_.names_[to_.names_count_++] = to_.path_;
  }

  void Element() {}

  void Scalar(std::string_view raw) {
    if (inner_ == 0) AddLeaf(raw);
  }

 private:
  void AddLeaf(std::string_view text) {
    if (!is_flat_) return;
    if (to_.count_ == to_.leaves_.size()) to_.leaves_.emplace_back();
    Leaf& leaf = to_.leaves_[to_.count_++];
    leaf.path = to_.path_;
    leaf.text = text;
    leaf.type = TypeOfJson(text);
  }

  LeafReader& to_;
  std::vector<const char*> starts_;  // of the open objects
  const char* start_ = nullptr;      // of the array that is a leaf
  int inner_ = 0;                    // open arrays, and what is open in them
  bool is_empty_ = false;            // the open object has no member so far
  bool is_flat_ = true;
};

bool LeafReader::Read(std::string_view json) {
  count_ = names_count_ = 0;
  path_.clear();
  levels_.clear();
  Visitor visitor(this);
  json::Scanner scanner(json, &visitor);
  if (!scanner.Value()) return false;
  bool is_flat = visitor.is_flat();
  if (is_flat && names_count_ > 1) {
    sort_.assign(names_.begin(), names_.begin() + static_cast<std::ptrdiff_t>(names_count_));
    std::sort(sort_.begin(), sort_.end());
    is_flat = std::adjacent_find(sort_.begin(), sort_.end()) == sort_.end();
  }
  if (is_flat) return true;
  if (leaves_.empty()) leaves_.emplace_back();
  leaves_[0] = {"", json, ValueType::kJson};
  count_ = 1;
  return true;
}

}  // namespace seganet::sparkplug
