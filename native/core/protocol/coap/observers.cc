#include "core/protocol/coap/observers.h"

#include <utility>

namespace seganet::coap {

bool Observers::Add(std::string_view device, Observer observer) {
  Remove(device, observer.peer, observer.token);
  auto found = by_device_.find(device);
  // A device that began anew must not be kept out by what is left of itself.
  if (found != by_device_.end() && (found->second.size() >= max_per_device_ || count_ >= max_)) {
    const Observer oldest = found->second.front();
    Remove(device, oldest.peer, oldest.token);
    found = by_device_.find(device);
  }
  if (count_ >= max_ || max_per_device_ == 0) return false;
  if (found == by_device_.end()) {
    found = by_device_.emplace(device, std::vector<Observer>()).first;
    bytes_ += BytesOf(device);
  }
  bytes_ += BytesOf(observer);
  found->second.push_back(std::move(observer));
  ++count_;
  return true;
}

bool Observers::Remove(std::string_view device, const Peer& peer, std::string_view token) {
  const auto found = by_device_.find(device);
  if (found == by_device_.end()) return false;
  std::vector<Observer>& all = found->second;
  for (auto observer = all.begin(); observer != all.end(); ++observer) {
    if (observer->token != token || !(observer->peer == peer)) continue;
    bytes_ -= BytesOf(*observer);
    all.erase(observer);
    --count_;
    if (all.empty()) {
      bytes_ -= BytesOf(device);
      by_device_.erase(found);
    }
    return true;
  }
  return false;
}

const std::vector<Observer>& Observers::Of(std::string_view device) const {
  static const std::vector<Observer> kNone;
  const auto found = by_device_.find(device);
  return found == by_device_.end() ? kNone : found->second;
}

}  // namespace seganet::coap
