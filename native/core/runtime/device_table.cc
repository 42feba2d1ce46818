#include "core/runtime/device_table.h"

namespace seganet {

DeviceTable::~DeviceTable() {
  for (auto& [id, device] : devices_) Uncount(device.get());
}

Device* DeviceTable::Get(std::string_view id, int64_t now_us) {
  if (const auto it = devices_.find(id); it != devices_.end()) return it->second.get();
  if (devices_.size() >= limit_ && !EvictOldest()) return nullptr;
  auto device = std::make_unique<Device>();
  device->id = id;
  device->last_seen_us = now_us;
  return devices_.emplace(device->id, std::move(device)).first->second.get();
}

bool DeviceTable::EvictOldest() {
  auto oldest = devices_.end();
  for (auto it = devices_.begin(); it != devices_.end(); ++it) {
    if (it->second->agent != nullptr) continue;
    if (oldest == devices_.end() || it->second->last_seen_us < oldest->second->last_seen_us) {
      oldest = it;
    }
  }
  if (oldest == devices_.end()) return false;
  Uncount(oldest->second.get());
  devices_.erase(oldest);
  return true;
}

void DeviceTable::Count(Device* device, int64_t now_us) {
  device->last_seen_us = now_us;
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
  for (auto& [id, device] : devices_) {
    if (device->agent == nullptr && now_us - device->last_seen_us > kPushedUs) {
      Uncount(device.get());
    }
  }
}

}  // namespace seganet
