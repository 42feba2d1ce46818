#include "core/devices/desk/desk_topics.h"

#include <algorithm>
#include <utility>

#include "core/base/require.h"
#include "core/protocol/coap/codes.h"
#include "core/protocol/coap/option_reader.h"

namespace seganet {
namespace {

template <typename T>
bool Contains(const std::vector<T>& list, uint32_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// Accept and Content-Format may occur once; other options must be known.
bool HasOnlyKnown(const PostOptions& options, const coap::OptionValues& given) {
  bool has_accept = false, has_format = false;
  for (const coap::OptionValue& option : given) {
    if (option.number != coap::kAccept && option.number != coap::kContentFormat) {
      if (!Contains(options.ignored_options, option.number)) return false;
      continue;
    }
    bool* const seen = option.number == coap::kAccept ? &has_accept : &has_format;
    if (std::exchange(*seen, true) || option.value.size() > sizeof(uint32_t) ||
        !Contains(options.formats, coap::UintOf(option.value))) {
      return false;
    }
  }
  return true;
}

}  // namespace

void DeskTopics::SetKey(uint32_t stage, std::string_view owner) {
  key_.assign(reinterpret_cast<const char*>(&stage), sizeof stage);
  key_ += owner;
  key_ += '\0';
}

void DeskTopics::Open(DeskTopicSpec spec) {
  SetKey(spec.stage, spec.owner);
  key_ += spec.name;
  const auto before = by_key_.find(key_);
  if (before != by_key_.end()) Close(before->second->spec.id);
  auto topic = std::make_shared<DeskTopic>(std::move(spec));
  by_id_[topic->spec.id] = topic.get();
  by_key_[key_] = std::move(topic);
}

void DeskTopics::Close(uint64_t id) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return;
  DeskTopic* const topic = found->second;
  by_id_.erase(found);
  const std::string kept = key_;
  bytes_ -= topic->latest.size();
  ChangeOwner(*topic, topic->latest.size(), 0);
  topic->latest = {};
  topic->is_open = false;
  SetKey(topic->spec.stage, topic->spec.owner);
  key_ += topic->spec.name;
  by_key_.erase(key_);
  key_ = kept;
}

DeskTopic* DeskTopics::Find(uint64_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

DeskTopic* DeskTopics::Find(uint32_t stage, std::string_view owner,
                            const std::vector<std::string_view>& path, size_t skipped) {
  if (by_id_.empty()) return nullptr;
  SetKey(stage, owner);
  for (size_t i = skipped; i < path.size(); ++i) {
    if (i > skipped) key_ += '/';
    key_ += path[i];
  }
  const auto found = by_key_.find(key_);
  return found == by_key_.end() ? nullptr : found->second.get();
}

bool DeskTopics::Take(size_t bytes) {
  if (!HasRoom(bytes)) return false;
  bytes_ += bytes;
  pending_ += bytes;
  return true;
}

bool DeskTopics::ChangeOwner(const DeskTopic& topic, size_t before, size_t after) {
  SetKey(topic.spec.stage, topic.spec.owner);
  const auto found = by_owner_.find(key_);
  const size_t sum = (found == by_owner_.end() ? 0 : found->second) - before + after;
  if (after > before && sum > most_bytes_ / kOwnerShare) return false;
  if (found != by_owner_.end()) {
    if (sum == 0) {
      by_owner_.erase(found);
    } else {
      found->second = sum;
    }
  } else if (sum > 0) {
    by_owner_.emplace(key_, sum);
  }
  return true;
}

void DeskTopics::Keep(DeskTopic* topic, std::string_view payload, uint64_t number) {
  SEGANET_REQUIRE(topic->is_open);
  const size_t others = bytes_ - topic->latest.size();
  if (others + payload.size() > most_bytes_ ||
      !ChangeOwner(*topic, topic->latest.size(), payload.size())) {
    return;
  }
  bytes_ = others + payload.size();
  // A short post after a long one must not keep the memory of the long one.
  if (topic->latest.capacity() > 2 * payload.size() + 64) topic->latest = {};
  topic->latest = payload;
  topic->number = number;
}

bool IsPost(const PostOptions& options, const coap::Asked& asked) {
  const auto& prefix = options.prefix;
  return asked.code == coap::kPost && asked.is_plain && !asked.reuses_token &&
         asked.query.empty() && asked.path.size() > prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), asked.path.begin()) &&
         HasOnlyKnown(options, asked.options) && IsCborMap(asked.payload, options.body);
}

}  // namespace seganet
