#include "core/plan/split.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "core/base/require.h"

namespace seganet {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

}  // namespace

Status ValidateParts(const std::vector<SplitPart>& parts) {
  if (parts.size() > kMaxParts) {
    return Status::InvalidArgument("more than " + std::to_string(kMaxParts) + " parts");
  }
  std::unordered_set<std::string_view> names;
  for (const SplitPart& part : parts) {
    if (!ValidPart(part.name)) {
      return Status::InvalidArgument("part '" + part.name + "' must be 1 to " +
                                     std::to_string(kMaxPartBytes) + " bytes without ':'");
    }
    if (!names.insert(part.name).second) {
      return Status::InvalidArgument("part '" + part.name + "' is named twice");
    }
    if (part.rate > kMaxPartRate || part.budget > kMaxPartBudget) {
      return Status::InvalidArgument("part '" + part.name + "' has a limit out of range");
    }
  }
  return {};
}

void Holdings::AddLanes(std::shared_ptr<const Lanes> lanes) {
  if (std::find(lanes_.begin(), lanes_.end(), lanes) == lanes_.end()) {
    lanes_.push_back(std::move(lanes));
  }
}

void Holdings::AddStored(BytesOnDisk stored) {
  if (std::find(stored_.begin(), stored_.end(), stored) == stored_.end()) {
    stored_.push_back(std::move(stored));
  }
}

int64_t Holdings::bytes() const {
  int64_t sum = 0;
  for (const auto& lanes : lanes_) sum += lanes->held_bytes();
  for (const BytesOnDisk& stored : stored_) sum += stored->load(std::memory_order_relaxed);
  return sum;
}

bool PartRate::Pay(uint32_t per_s, int64_t now_us) {
  SEGANET_REQUIRE(per_s >= 1 && per_s <= kMaxPartRate);
  const int64_t now_ns = now_us * 1000;
  int64_t paid_ns = paid_ns_.load(std::memory_order_relaxed);
  for (;;) {
    const int64_t next_ns = std::max(paid_ns, now_ns - kSecondNs) + kSecondNs / per_s;
    if (next_ns > now_ns) return false;
    if (paid_ns_.compare_exchange_weak(paid_ns, next_ns, std::memory_order_relaxed)) return true;
  }
}

Split::Split(const std::vector<SplitPart>& parts, std::vector<Holdings> holdings,
             const Split* before) {
  SEGANET_REQUIRE(ValidateParts(parts).ok());
  SEGANET_REQUIRE(holdings.size() == parts.size());
  parts_.reserve(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    const Part* old = before == nullptr ? nullptr : before->PartOf(parts[i].name);
    parts_.try_emplace(parts[i].name, parts[i], i, std::move(holdings[i]),
                       old == nullptr ? std::make_shared<PartUse>() : old->use_);
  }
}

const Split::Part* Split::PartOf(std::string_view name) const {
  const auto it = parts_.find(name);
  return it == parts_.end() ? nullptr : &it->second;
}

Split::Route Split::Find(std::string_view device) const {
  const size_t end = device.find(kPartEnd);
  if (end == std::string_view::npos || end + 1 == device.size()) return {};
  const Part* part = PartOf(device.substr(0, end));
  if (part == nullptr) return {};
  return {part, device.substr(end + 1)};
}

}  // namespace seganet
