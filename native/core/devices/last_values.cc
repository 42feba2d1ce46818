#include "core/devices/last_values.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>
#include <utility>

#include "core/devices/device_table.h"
#include "core/devices/value_rows.h"
#include "core/record/first_number.h"
#include "core/record/rules.h"

namespace seganet {
namespace {

constexpr int64_t kMinuteUs = 60'000'000;
// A value that is renewed again moves in the list after this.
constexpr int64_t kQueueUs = 1'000'000;
constexpr size_t kMostSavedBytes = 1u << 20;  // of one Save
constexpr size_t kEvictedPerSweep = 1024;
// Of a value besides the parts that are counted: the allocator's and the lists of its device.
constexpr size_t kOverheadBytes = 64;
constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

uint32_t HashOf(std::string_view topic) {
  return static_cast<uint32_t>(std::hash<std::string_view>{}(topic));
}

size_t PointOf(int64_t minute) {
  constexpr auto kPoints = static_cast<int64_t>(kLinePoints);
  return static_cast<size_t>((minute % kPoints + kPoints) % kPoints);
}

// From this on, the values that were renewed least recently of all workers leave.
int64_t SoftLimit(const MemoryShare& memory) { return memory.limit() - memory.limit() / 16; }

// Enters a number, or that there was none, for the first record of a minute.
void AddToLine(LastValue* value, int64_t minute, std::string_view payload) {
  const auto number = FirstNumber(payload);
  const bool fits = number && std::abs(*number) <= FLT_MAX;
  if (!value->ring && fits) {
    value->ring = std::make_unique<ValueLine>();
    value->ring->fill(kNone);
  } else if (value->ring) {
    const int64_t from = std::max(value->minute, minute - static_cast<int64_t>(kLinePoints));
    for (int64_t m = from + 1; m <= minute; ++m) (*value->ring)[PointOf(m)] = kNone;
  }
  if (fits) (*value->ring)[PointOf(minute)] = static_cast<float>(*number);
  value->minute = minute;
}

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

// REQUIRES: `text` has no capital ASCII letters.
bool Contains(std::string_view in, std::string_view text) {
  return std::search(in.begin(), in.end(), text.begin(), text.end(),
                     [](char a, char b) { return Lower(a) == b; }) != in.end();
}

std::string LowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), Lower);
  return text;
}

// True if the value matches all but the device. REQUIRES: query.search has no capital letters.
bool Matches(const ValueQuery& query, const Device& device, const LastValue& value) {
  if (!query.filter.empty() && !TopicMatches(query.filter, value.topic)) return false;
  return query.search.empty() || Contains(value.topic, query.search) ||
         Contains(device.id, query.search) || Contains(value.payload, query.search);
}

size_t CostOf(const ValueQuery& query) {
  return query.search.empty() ? 1 : LastValues::kSearchCost;
}

ValueRow RowOf(const Device& device, const LastValue& value, int64_t now_us) {
  ValueRow row;
  row.device = device.id;
  row.topic = value.topic;
  row.payload = value.payload;
  row.size = value.size;
  row.seq = value.seq;
  row.ts_ms = value.ts_ms;
  row.record_class = value.record_class;
  row.restored = value.restored;
  row.changed_us = value.changed_us;
  row.has_line = value.ring != nullptr;
  if (row.has_line) row.line = value.LineAt(now_us);
  return row;
}

}  // namespace

ValueLine LastValue::LineAt(int64_t now_us) const {
  const int64_t now = now_us / kMinuteUs;
  ValueLine line;
  line.fill(kNone);
  if (!ring) return line;
  constexpr auto kPoints = static_cast<int64_t>(kLinePoints);
  for (int64_t i = 0; i < kPoints; ++i) {
    const int64_t m = now - kPoints + 1 + i;
    if (m <= minute && m > minute - kPoints) line[static_cast<size_t>(i)] = (*ring)[PointOf(m)];
  }
  return line;
}

DeviceValues::~DeviceValues() {
  int64_t bytes = 0;
  for (const auto& value : values_) {
    if (home_ != nullptr) home_->Unlink(value.get());
    bytes += value->bytes;
  }
  if (home_ != nullptr) home_->devices_.erase({device_->id, this});
  shared_->memory.Add(-bytes);
  shared_->kept.fetch_sub(static_cast<int64_t>(values_.size()), std::memory_order_relaxed);
}

LastValues::LastValues(LastValuesOptions options, uint32_t worker, SharedValues* shared,
                       CounterBlock* counters)
    : options_(std::move(options)), worker_(worker), shared_(shared), counters_(counters) {}

void LastValues::Renew(Device* device, const Record& record) {
  if (record.topic.size() > kMostValueTopicBytes) return;
  const uint32_t hash = HashOf(record.topic);
  LastValue* value = Find(*device, hash, record.topic);
  const bool is_new = value == nullptr;
  if (is_new) value = Add(device, hash, record.topic);
  if (value == nullptr) return;
  // Later than a reading that has just been made, even if this turn began before it.
  value->changed_us = std::max(record.arrived_us, read_us_ + 1);
  if (is_new || value->changed_us - value->queued_us >= kQueueUs) {
    if (!is_new) Unlink(value);
    value->queued_us = value->changed_us;
    PushNewest(value);
  }
  value->ts_ms = record.ts_ms;
  value->seq = record.seq;
  value->record_class = record.record_class;
  value->restored = false;
  value->size = static_cast<uint32_t>(record.payload.size());
  if (record.payload.size() <= kMostValueBytes) {
    value->payload = record.payload;
  } else {
    value->payload.clear();
  }
  const int64_t minute = value->changed_us / kMinuteUs;
  if (is_new || minute > value->minute) AddToLine(value, minute, value->payload);
  Account(value);
  if (shared_->memory.used() > shared_->memory.limit()) MakeRoom(value);
}

LastValue* LastValues::Find(const Device& device, uint32_t hash, std::string_view topic) const {
  if (!device.values) return nullptr;
  const std::vector<uint32_t>& hashes = device.values->hashes_;
  for (size_t i = 0; i < hashes.size(); ++i) {
    LastValue* const value = hashes[i] == hash ? device.values->values_[i].get() : nullptr;
    if (value != nullptr && value->topic == topic) return value;
  }
  return nullptr;
}

// Returns a value without a place in the list, or null if the topic is not kept.
LastValue* LastValues::Add(Device* device, uint32_t hash, std::string_view topic) {
  for (const std::string& filter : options_.not_kept) {
    if (TopicMatches(filter, topic)) return nullptr;
  }
  if (device->values && device->values->values_.size() >= options_.topics) {
    const auto& values = device->values->values_;
    const auto longest = std::min_element(
        values.begin(), values.end(),
        [](const auto& one, const auto& other) { return one->changed_us < other->changed_us; });
    Evict(longest->get());
  }
  if (!device->values) {
    device->values.reset(new DeviceValues(device, shared_));
    device->values->home_ = this;
    devices_.emplace(device->id, device->values.get());
  }
  auto value = std::make_unique<LastValue>();
  value->topic = topic;
  value->hash = hash;
  value->of = device->values.get();
  device->values->hashes_.push_back(hash);
  device->values->values_.push_back(std::move(value));
  shared_->kept.fetch_add(1, std::memory_order_relaxed);
  return device->values->values_.back().get();
}

void LastValues::Evict(LastValue* value) {
  counters_->Add(Counter::kValuesEvicted);
  Unlink(value);
  DeviceValues* const of = value->of;
  const auto at = std::find_if(of->values_.begin(), of->values_.end(),
                               [value](const auto& each) { return each.get() == value; });
  const auto index = static_cast<size_t>(at - of->values_.begin());
  shared_->memory.Add(-int64_t{value->bytes});
  shared_->kept.fetch_sub(1, std::memory_order_relaxed);
  std::swap(of->values_[index], of->values_.back());
  std::swap(of->hashes_[index], of->hashes_.back());
  of->values_.pop_back();
  of->hashes_.pop_back();
  if (of->values_.empty()) of->device_->values.reset();
}

void LastValues::Account(LastValue* value) {
  const size_t bytes = sizeof(LastValue) + kOverheadBytes + value->topic.capacity() +
                       value->payload.capacity() + (value->ring ? sizeof(ValueLine) : 0);
  if (bytes == value->bytes) return;
  shared_->memory.Add(static_cast<int64_t>(bytes) - int64_t{value->bytes});
  value->bytes = static_cast<uint32_t>(bytes);
}

// The oldest ones of this worker leave: those of other workers only by their own Sweep.
void LastValues::MakeRoom(const LastValue* besides) {
  while (shared_->memory.used() > shared_->memory.limit()) {
    LastValue* const oldest = oldest_ == besides ? oldest_->newer : oldest_;
    if (oldest == nullptr) return;
    Evict(oldest);
  }
}

void LastValues::Sweep() {
  if (options_.memory_mib == 0) return;
  int64_t others = kNever;
  for (size_t i = 0; i < shared_->oldest_us.size(); ++i) {
    if (i == worker_) continue;
    others = std::min(others, shared_->oldest_us[i].load(std::memory_order_relaxed));
  }
  const int64_t limit = SoftLimit(shared_->memory);
  for (size_t i = 0; i < kEvictedPerSweep && oldest_ != nullptr && oldest_->queued_us <= others &&
                     shared_->memory.used() > limit;
       ++i) {
    Evict(oldest_);
  }
  shared_->oldest_us[worker_].store(oldest_ == nullptr ? kNever : oldest_->queued_us,
                                    std::memory_order_relaxed);
}

void LastValues::Leave(Device* device) {
  if (device->behind) {
    for (const auto& [id, each] : device->behind->devices) Leave(each.get());
  }
  if (!device->values) return;
  for (const auto& value : device->values->values_) Unlink(value.get());
  device->values->home_ = nullptr;
  devices_.erase({device->id, device->values.get()});
}

// The values take their places as if they had been renewed with the newest one of this worker.
void LastValues::Enter(Device* device) {
  if (device->behind) {
    for (const auto& [id, each] : device->behind->devices) Enter(each.get());
  }
  if (!device->values) return;
  device->values->home_ = this;
  devices_.emplace(device->id, device->values.get());
  for (const auto& value : device->values->values_) {
    value->queued_us =
        newest_ == nullptr ? value->changed_us : std::max(newest_->queued_us, value->changed_us);
    PushNewest(value.get());
  }
}

void LastValues::PushNewest(LastValue* value) {
  value->older = newest_;
  value->newer = nullptr;
  (newest_ == nullptr ? oldest_ : newest_->newer) = value;
  newest_ = value;
}

void LastValues::PushOldest(LastValue* value) {
  value->older = nullptr;
  value->newer = oldest_;
  (oldest_ == nullptr ? newest_ : oldest_->older) = value;
  oldest_ = value;
}

void LastValues::Unlink(LastValue* value) {
  (value->older == nullptr ? oldest_ : value->older->newer) = value->newer;
  (value->newer == nullptr ? newest_ : value->newer->older) = value->older;
}

// Calls `see` for the values that match, in the order of keys, until it returns false. Returns
// false, and sets `*reached` to the last key that was looked at, if it did not come to the end.
bool LastValues::Walk(const ValueQuery& query, ValueKey* reached, const See& see) {
  const bool is_one = !query.device.empty();
  if (is_one && query.after.device > query.device) return true;
  const std::string_view first = is_one ? query.device : query.after.device;
  size_t left = kMostExamined / CostOf(query);
  std::vector<const LastValue*> sorted;
  for (auto it = devices_.lower_bound({first, nullptr}); it != devices_.end();) {
    const Device& device = *it->second->device_;
    if (is_one && device.id != query.device) break;
    const bool has_begun = device.id == query.after.device;
    sorted.clear();
    for (; it != devices_.end() && it->first == device.id; ++it) {
      for (const auto& value : it->second->values_) {
        if (!has_begun || value->topic > query.after.topic) sorted.push_back(value.get());
      }
    }
    std::sort(sorted.begin(), sorted.end(), [](const LastValue* a, const LastValue* b) {
      return a->topic != b->topic ? a->topic < b->topic : a->changed_us > b->changed_us;
    });
    for (size_t i = 0; i < sorted.size(); ++i) {
      const LastValue& value = *sorted[i];
      if (i > 0 && value.topic == sorted[i - 1]->topic) continue;
      const bool goes_on = !Matches(query, device, value) || see(device, value);
      if (goes_on && --left > 0) continue;
      *reached = {device.id, value.topic};
      return false;
    }
  }
  return true;
}

ValuePage LastValues::Page(const ValueQuery& asked, int64_t now_us) {
  ValueQuery query = asked;
  query.search = LowerCase(asked.search);
  ValuePage page;
  page.at_us = now_us;
  page.is_complete = Walk(query, &page.reached, [&](const Device& device, const LastValue& value) {
    page.rows.push_back(RowOf(device, value, now_us));
    return page.rows.size() < query.limit;
  });
  return page;
}

ValuePage LastValues::Changed(const ValueQuery& asked, int64_t since_us, int64_t now_us) {
  ValueQuery query = asked;
  query.search = LowerCase(asked.search);
  ValuePage page;
  page.at_us = now_us;
  read_us_ = std::max(read_us_, now_us);
  std::vector<const LastValue*> found;
  const auto look = [&](const LastValue& value) {
    if (value.changed_us > since_us && Matches(query, *value.of->device_, value)) {
      found.push_back(&value);
    }
  };
  if (!query.device.empty()) {
    for (auto it = devices_.lower_bound({query.device, nullptr});
         it != devices_.end() && it->first == query.device; ++it) {
      for (const auto& value : it->second->values_) look(*value);
    }
  } else {
    size_t left = kMostExamined / CostOf(query);
    // A value may have been renewed for kQueueUs since it took its place, and records of one turn
    // may come in another order than their times.
    for (const LastValue* value = newest_;
         value != nullptr && value->queued_us > since_us - 2 * kQueueUs; value = value->older) {
      if (left-- == 0) {
        page.is_complete = false;
        break;
      }
      look(*value);
    }
  }
  std::sort(found.begin(), found.end(),
            [](const LastValue* a, const LastValue* b) { return a->changed_us > b->changed_us; });
  if (found.size() > query.limit) {
    found.resize(query.limit);
    page.is_complete = false;
  }
  for (const LastValue* value : found) {
    page.rows.push_back(RowOf(*value->of->device_, *value, now_us));
  }
  return page;
}

TopicLevels LastValues::Levels(std::string_view prefix, const ValueKey& after) {
  TopicLevels page;
  page.is_complete =
      Walk({.after = after}, &page.reached, [&](const Device&, const LastValue& value) {
        if (!value.topic.starts_with(prefix)) return true;
        const std::string_view rest = std::string_view(value.topic).substr(prefix.size());
        const size_t end = rest.find('/');
        const std::string_view name = rest.substr(0, end);
        auto it = page.levels.find(name);
        if (it == page.levels.end()) it = page.levels.emplace(name, TopicLevel()).first;
        TopicLevel& level = it->second;
        ++level.values;
        level.has_children = level.has_children || end != std::string_view::npos;
        level.ts_ms = std::max(level.ts_ms, value.ts_ms);
        return true;
      });
  return page;
}

bool LastValues::ForEachMatching(std::string_view filter, size_t limit, ValueKey* after,
                                 const std::function<void(const Device&, const LastValue&)>& see) {
  if (limit == 0) return false;
  const ValueQuery query{.after = *after, .filter = std::string(filter)};
  return Walk(query, after, [&](const Device& device, const LastValue& value) {
    see(device, value);
    return --limit > 0;
  });
}

bool LastValues::Save(ValueKey* after, const Now& now, std::string* rows) {
  const size_t begin = rows->size();
  const ValueQuery query{.after = *after};
  return Walk(query, after, [&](const Device& device, const LastValue& value) {
    AppendValueRow(RowOf(device, value, value.changed_us), now, rows);
    return rows->size() - begin < kMostSavedBytes;
  });
}

bool LastValues::Restore(Device* device, const ValueRow& row, int64_t now_us) {
  if (options_.memory_mib == 0 || shared_->memory.used() >= SoftLimit(shared_->memory)) {
    return false;
  }
  const uint32_t hash = HashOf(row.topic);
  if (Find(*device, hash, row.topic) != nullptr ||
      (device->values && device->values->values_.size() >= options_.topics)) {
    return true;
  }
  LastValue* const value = Add(device, hash, row.topic);
  if (value == nullptr) return true;
  value->payload = row.payload;
  value->size = row.size;
  value->seq = row.seq;
  value->ts_ms = row.ts_ms;
  value->record_class = row.record_class;
  value->restored = true;
  value->changed_us = std::min(row.changed_us, now_us);
  // A minute has 60 s also before the clock began.
  value->minute = (value->changed_us - (value->changed_us < 0 ? kMinuteUs - 1 : 0)) / kMinuteUs;
  if (row.has_line) {
    value->ring = std::make_unique<ValueLine>();
    for (size_t i = 0; i < kLinePoints; ++i) {
      const int64_t minute = value->minute - static_cast<int64_t>(kLinePoints - 1 - i);
      (*value->ring)[PointOf(minute)] = row.line[i];
    }
  }
  value->queued_us =
      oldest_ == nullptr ? value->changed_us : std::min(oldest_->queued_us, value->changed_us);
  PushOldest(value);
  Account(value);
  return true;
}

}  // namespace seganet
