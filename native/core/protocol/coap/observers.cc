#include "core/protocol/coap/observers.h"

#include <algorithm>
#include <utility>

namespace seganet::coap {

bool Observers::Add(std::string_view device, Observer observer, std::vector<Displaced>* displaced) {
  if (max_per_device_ == 0) return false;
  for (const Observer& other : Of(device)) {
    const bool same = other.token == observer.token && other.peer == observer.peer;
    if (same && other.proved) observer.proved = true;
  }
  Remove(device, observer.peer, observer.token);
  auto found = by_device_.find(device);
  if (found != by_device_.end()) {
    const auto same = std::count_if(
        found->second.begin(), found->second.end(),
        [&observer](const Observer& other) { return other.proved == observer.proved; });
    if (static_cast<size_t>(same) >= max_per_device_) DropOldest(found, observer.proved, displaced);
  }
  if (count_ >= max_ && !unproved_.empty()) {
    const std::string oldest = unproved_.begin()->second;
    DropOldest(by_device_.find(oldest), false, displaced);
  }
  found = by_device_.find(device);
  // Old registrations of a restarted device must not keep out its new one.
  if (count_ >= max_ && found != by_device_.end() && observer.proved) {
    DropOldest(found, true, displaced);
  }
  if (count_ >= max_) return false;
  found = by_device_.find(device);
  if (found == by_device_.end()) {
    found = by_device_.emplace(device, std::vector<Observer>()).first;
    bytes_ += BytesOf(device);
  }
  observer.number = ++last_number_;
  if (!observer.proved) unproved_.emplace(observer.number, device);
  bytes_ += BytesOf(observer);
  found->second.push_back(std::move(observer));
  ++count_;
  return true;
}

void Observers::Prove(std::string_view device, const Peer& peer, std::string_view token) {
  const auto found = by_device_.find(device);
  if (found == by_device_.end()) return;
  for (Observer& observer : found->second) {
    if (observer.proved || observer.token != token || !(observer.peer == peer)) continue;
    const auto proved = std::count_if(found->second.begin(), found->second.end(),
                                      [](const Observer& other) { return other.proved; });
    observer.proved = true;
    unproved_.erase(observer.number);
    if (static_cast<size_t>(proved) >= max_per_device_) DropOldest(found, true, nullptr);
    return;
  }
}

bool Observers::Remove(std::string_view device, const Peer& peer, std::string_view token) {
  const auto found = by_device_.find(device);
  if (found == by_device_.end()) return false;
  const std::vector<Observer>& all = found->second;
  for (size_t at = 0; at < all.size(); ++at) {
    if (all[at].token != token || !(all[at].peer == peer)) continue;
    Erase(found, at);
    return true;
  }
  return false;
}

std::vector<std::string> Observers::RemovePeer(const Peer& peer, std::string_view device) {
  std::vector<std::string> devices;
  auto it = device.empty() ? by_device_.begin() : by_device_.find(device);
  while (it != by_device_.end()) {
    const auto next = device.empty() ? std::next(it) : by_device_.end();
    std::string name = it->first;
    if (ErasePeer(it, peer) > 0) devices.push_back(std::move(name));
    it = next;
  }
  return devices;
}

size_t Observers::ErasePeer(Devices::iterator device, const Peer& peer) {
  size_t erased = 0;
  // Erase() removes the device's row with its last observer.
  size_t left = device->second.size();
  for (size_t at = left; at-- > 0;) {
    if (!(device->second[at].peer == peer)) continue;
    Erase(device, at);
    ++erased;
    if (--left == 0) break;
  }
  return erased;
}

void Observers::DropOldest(Devices::iterator device, bool proved,
                           std::vector<Displaced>* displaced) {
  const std::vector<Observer>& all = device->second;
  for (size_t at = 0; at < all.size(); ++at) {
    if (all[at].proved != proved) continue;
    if (!proved) displaced->push_back({device->first, all[at].peer, all[at].token});
    return Erase(device, at);
  }
}

void Observers::Erase(Devices::iterator device, size_t at) {
  std::vector<Observer>& all = device->second;
  unproved_.erase(all[at].number);
  bytes_ -= BytesOf(all[at]);
  all.erase(all.begin() + static_cast<ptrdiff_t>(at));
  --count_;
  if (!all.empty()) return;
  bytes_ -= BytesOf(device->first);
  by_device_.erase(device);
}

const std::vector<Observer>& Observers::Of(std::string_view device) const {
  static const std::vector<Observer> kNone;
  const auto found = by_device_.find(device);
  return found == by_device_.end() ? kNone : found->second;
}

}  // namespace seganet::coap
