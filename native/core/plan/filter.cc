#include "core/plan/filter.h"

#include <cmath>
#include <iterator>
#include <utility>

#include "core/base/require.h"

namespace seganet {
namespace {

Status Check(const Status& status, const char* what) {
  return status.ok() ? status : Status::InvalidArgument(std::string(what) + status.message());
}

}  // namespace

Status Validate(const FilterOptions& options) {
  switch (options.mode) {
    case FilterMode::kPass:
    case FilterMode::kBlock: {
      JsonPaths paths;
      Condition condition;
      return Check(Condition::Parse(options.when, &paths, &condition), "condition: ");
    }
    case FilterMode::kRate:
      if (options.records < 1 || options.records > kMaxFilterRecords) {
        return Status::InvalidArgument("records must be 1 to 1000000");
      }
      if (options.period_s < 1 || options.period_s > kMaxFilterS) {
        return Status::InvalidArgument("period must be 1 to 86400 s");
      }
      return {};
    case FilterMode::kChange:
      if (!std::isfinite(options.band) || options.band < 0) {
        return Status::InvalidArgument("dead band must be a number from 0");
      }
      if (options.every_s > kMaxFilterS) {
        return Status::InvalidArgument("longest pause must be 0 to 86400 s");
      }
      break;
    case FilterMode::kRange:
      if (!(options.low <= options.high)) {
        return Status::InvalidArgument("the range's low end must not exceed its high end");
      }
      break;
    case FilterMode::kWindow:
      return Validate(options.window);
  }
  Path path;
  return Check(ParsePath(options.path, &path), "path: ");
}

Filter::Filter(const FilterOptions& options) : options_(options), hash_(SecretNumbers::Random()) {
  SEGANET_REQUIRE(Validate(options).ok() && options.mode != FilterMode::kWindow);
  if (options_.mode == FilterMode::kPass || options_.mode == FilterMode::kBlock) {
    Condition::Parse(options_.when, &paths_, &condition_);
  } else if (options_.mode != FilterMode::kRate) {
    Path path;
    ParsePath(options_.path, &path);
    path_ = paths_.Add(path);
  }
  paths_.Build();
}

bool Filter::Passes(const Record& record) {
  has_seen_ = false;
  switch (options_.mode) {
    case FilterMode::kPass:
    case FilterMode::kBlock: {
      JsonValues values;
      paths_.Read(record.payload, &values);
      return condition_.Holds(paths_, values) == (options_.mode == FilterMode::kPass);
    }
    case FilterMode::kChange:
      return HasChanged(record);
    case FilterMode::kRate:
      return IsWithinRate(record);
    case FilterMode::kRange: {
      JsonValues values;
      paths_.Read(record.payload, &values);
      if (values.KindOf(paths_, path_) != JsonKind::kNumber) return false;
      const double number = values.NumberOf(paths_, path_);
      return options_.low <= number && number <= options_.high;
    }
    case FilterMode::kWindow:
      break;
  }
  return true;
}

bool Filter::HasChanged(const Record& record) {
  JsonValues values;
  const bool is_json = paths_.Read(record.payload, &values);
  Known now;
  now.kind = values.KindOf(paths_, path_);
  now.at_us = record.arrived_us;
  if (now.kind == JsonKind::kNumber) {
    now.number = values.NumberOf(paths_, path_);
  } else if (now.kind != JsonKind::kMissing) {
    now.text = hash_.HashOf("", values.TextOf(paths_, path_));
  } else if (!is_json && options_.path == "$") {
    now.text = hash_.HashOf("", record.payload);  // a payload that is not JSON has only its bytes
  } else {
    return true;  // there is no value to compare
  }
  bool is_new = false;
  Known* const last = Remember(record.device, record.topic, &is_new);
  const bool is_due =
      options_.every_s > 0 && now.at_us - last->at_us >= int64_t{options_.every_s} * 1'000'000;
  if (!is_new && !is_due && !Differs(*last, now)) return false;
  now.key = last->key;
  *last = now;
  return true;
}

bool Filter::Differs(const Known& last, const Known& now) const {
  if (last.kind != now.kind) return true;
  if (now.kind != JsonKind::kNumber) return last.text != now.text;
  if (last.number == now.number) return false;  // infinity too
  const double band =
      options_.percent ? std::abs(last.number) * options_.band / 100 : options_.band;
  return std::abs(now.number - last.number) > band || std::isinf(last.number);
}

bool Filter::IsWithinRate(const Record& record) {
  bool is_new = false;
  Known* const last = Remember(record.device, "", &is_new);
  const int64_t period_us = int64_t{options_.period_s} * 1'000'000;
  if (is_new || record.arrived_us - last->at_us >= period_us) {
    last->at_us = record.arrived_us;
    last->count = 0;
  }
  if (last->count == options_.records) return false;
  ++last->count;
  return true;
}

void Filter::Forget() {
  // A record without a value to compare passed, too.
  if (!has_seen_) return;
  Known& last = known_.back();
  if (options_.mode == FilterMode::kRate) {
    --last.count;
  } else if (options_.mode == FilterMode::kChange) {
    latest_.erase(last.key);
    known_.pop_back();
  }
}

Filter::Known* Filter::Remember(std::string_view device, std::string_view topic, bool* is_new) {
  has_seen_ = true;
  const uint64_t key = hash_.HashOf(device, topic);
  const auto it = latest_.find(key);
  *is_new = it == latest_.end();
  if (!*is_new) {
    known_.splice(known_.end(), known_, it->second);
    return &known_.back();
  }
  if (latest_.size() == kMaxFilterKeys) {
    // Both tables reuse the memory of the key that goes.
    auto node = latest_.extract(known_.front().key);
    node.key() = key;
    known_.splice(known_.end(), known_, known_.begin());
    node.mapped() = std::prev(known_.end());
    latest_.insert(std::move(node));
  } else {
    known_.emplace_back();
    latest_.emplace(key, std::prev(known_.end()));
  }
  known_.back() = Known{};
  known_.back().key = key;
  return &known_.back();
}

}  // namespace seganet
