#include "core/devices/device_table.h"

#include <algorithm>

#include "core/placement/placement.h"

namespace seganet {
namespace {

constexpr size_t kEvictionSample = 64;
// A device that observes is checked again after this.
constexpr int64_t kObservingUs = 1'000'000;

}  // namespace

DeviceTable::~DeviceTable() {
  for (auto& [id, device] : devices_) Uncount(device.get());
}

Device* DeviceTable::Get(std::string_view id, int64_t now_us) {
  if (const auto it = devices_.find(id); it != devices_.end()) return it->second.get();
  if (devices_.size() >= limit_ && !EvictOne()) return nullptr;
  auto device = std::make_unique<Device>();
  device->id = id;
  device->slot = static_cast<uint16_t>(Placement::SlotOf(id));
  device->last_seen_us = now_us;
  const std::string_view key = device->id;
  return devices_.emplace(key, std::move(device)).first->second.get();
}

Device* DeviceTable::Put(std::unique_ptr<Device> device) {
  if (devices_.size() >= limit_) EvictOne();
  const std::string_view key = device->id;
  // The key of an earlier row must not outlive it.
  devices_.erase(key);
  return devices_.emplace(key, std::move(device)).first->second.get();
}

// Checks only a few buckets, continuing where the last call ended: in a flood of new ids, each must
// not cost a walk through the table.
bool DeviceTable::EvictOne() {
  Device* oldest = nullptr;
  size_t seen = 0;
  for (size_t i = 0; i < devices_.bucket_count() && seen < kEvictionSample; ++i) {
    next_bucket_ = (next_bucket_ + 1) % devices_.bucket_count();
    for (auto it = devices_.begin(next_bucket_); it != devices_.end(next_bucket_); ++it) {
      Device* device = it->second.get();
      if (device->agent != nullptr || device->observing) continue;
      ++seen;
      if (oldest == nullptr || device->last_seen_us < oldest->last_seen_us) oldest = device;
    }
  }
  if (oldest == nullptr) return false;
  Uncount(oldest);
  devices_.erase(devices_.find(oldest->id));
  return true;
}

void DeviceTable::Count(Device* device, int64_t now_us) {
  device->last_seen_us = now_us;
  if (device->agent == nullptr) next_due_us_ = std::min(next_due_us_, now_us + kPushedUs);
  if (device->counted) return;
  device->counted = true;
  connected_->fetch_add(1, std::memory_order_relaxed);
}

void DeviceTable::Uncount(Device* device) {
  if (!device->counted) return;
  device->counted = false;
  connected_->fetch_sub(1, std::memory_order_relaxed);
}

void DeviceTable::Disconnected(Device* device) {
  device->agent = nullptr;
  Uncount(device);
}

void DeviceTable::Sweep(int64_t now_us) {
  if (now_us <= next_due_us_) return;
  next_due_us_ = kNever;
  for (auto& [id, device] : devices_) {
    if (device->agent != nullptr || !device->counted) continue;
    int64_t due_us = device->last_seen_us + kPushedUs;
    if (device->observing) {  // it may stop at any time
      due_us = std::max(due_us, now_us + kObservingUs);
    } else if (due_us < now_us) {
      Uncount(device.get());
      continue;
    }
    next_due_us_ = std::min(next_due_us_, due_us);
  }
}

}  // namespace seganet
