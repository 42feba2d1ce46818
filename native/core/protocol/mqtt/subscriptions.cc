#include "core/protocol/mqtt/subscriptions.h"

#include <algorithm>

#include "core/record/rules.h"

namespace seganet::mqtt {

bool Subscriptions::Add(std::string_view filter, uint8_t qos, uint32_t number, size_t max_count,
                        size_t max_bytes, SubscriptionOptions options) {
  for (Subscription& one : all_) {
    if (one.filter != filter) continue;
    if (one.qos != qos || one.number != number) ++changes_;
    one.qos = qos;
    one.number = number;
    one.options = options;
    return true;
  }
  if (all_.size() >= max_count || filter.size() > max_bytes - std::min(max_bytes, filter_bytes_)) {
    return false;
  }
  all_.push_back({std::string(filter), number, qos, options});
  filter_bytes_ += filter.size();
  ++changes_;
  return true;
}

bool Subscriptions::Remove(std::string_view filter) {
  const auto at = std::find_if(all_.begin(), all_.end(),
                               [&](const Subscription& one) { return one.filter == filter; });
  if (at == all_.end()) return false;
  filter_bytes_ -= filter.size();
  all_.erase(at);
  ++changes_;
  return true;
}

std::optional<Subscriptions::Match> Subscriptions::Find(std::string_view topic) const {
  std::optional<Match> match;
  for (const Subscription& one : all_) {
    if (!TopicMatches(one.filter, topic)) continue;
    if (!match) match.emplace();
    // [MQTT-3.3.5-1] One copy is sent for all matching filters, with their highest QoS.
    match->qos = std::max(match->qos, one.qos);
    if (one.number != 0) match->numbers.push_back(one.number);
  }
  return match;
}

bool Subscriptions::Listens(std::string_view topic) const {
  return std::any_of(all_.begin(), all_.end(),
                     [&](const Subscription& one) { return TopicMatches(one.filter, topic); });
}

size_t Subscriptions::memory_bytes() const {
  return all_.capacity() * sizeof(Subscription) + filter_bytes_;
}

}  // namespace seganet::mqtt
