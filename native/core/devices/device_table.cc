#include "core/devices/device_table.h"

#include <algorithm>

#include "core/base/require.h"
#include "core/devices/last_values.h"
#include "core/placement/placement.h"

namespace seganet {
namespace {

constexpr size_t kEvictionSample = 64;
// A device that observes is checked again after this.
constexpr int64_t kObservingUs = 1'000'000;

// Returns the longest absent row of a sample of those for which may_go(const Device&) is true, or
// nullptr. Checks only a few buckets, continuing where the last call ended: in a flood of new ids,
// each must not cost a walk through the table.
template <typename Rows, typename MayGo>
Device* LongestAbsent(const Rows& rows, size_t* next_bucket, MayGo&& may_go) {
  Device* oldest = nullptr;
  size_t seen = 0;
  for (size_t i = 0; i < rows.bucket_count() && seen < kEvictionSample; ++i) {
    *next_bucket = (*next_bucket + 1) % rows.bucket_count();
    for (auto it = rows.begin(*next_bucket); it != rows.end(*next_bucket); ++it) {
      Device* device = it->second.get();
      if (!may_go(*device)) continue;
      ++seen;
      if (oldest == nullptr || device->last_seen_us < oldest->last_seen_us) oldest = device;
    }
  }
  return oldest;
}

}  // namespace

Device::Device() = default;
Device::~Device() = default;

DeviceTable::~DeviceTable() {
  while (!devices_.empty()) Erase(devices_.begin());
}

Device* DeviceTable::Get(std::string_view id, int64_t now_us) {
  if (const auto it = devices_.find(id); it != devices_.end()) {
    Device* const known = it->second.get();
    if (known->last_seen_us == 0) known->last_seen_us = now_us;
    return known;
  }
  if (is_full() && !EvictOne()) return nullptr;
  auto device = std::make_unique<Device>();
  device->id = id;
  device->slot = static_cast<uint16_t>(Placement::SlotOf(id));
  device->last_seen_us = now_us;
  if (identities_->active()) device->identity = IdentityRef(identities_, id, 0, 0);
  const std::string_view key = device->id;
  return devices_.emplace(key, std::move(device)).first->second.get();
}

Device* DeviceTable::Put(std::unique_ptr<Device> device) {
  if (is_full()) EvictOne();
  const std::string_view key = device->id;
  // The key of an earlier row must not outlive it.
  if (const auto it = devices_.find(key); it != devices_.end()) Erase(it);
  if (device->behind != nullptr) {
    bridges_.insert(device.get());
    behind_ += device->behind->devices.size();
  }
  return devices_.emplace(key, std::move(device)).first->second.get();
}

bool DeviceTable::EvictOne() {
  const Device* const oldest = LongestAbsent(devices_, &next_bucket_, [](const Device& device) {
    return device.agent == nullptr && !device.observing;
  });
  if (oldest == nullptr) return false;
  Erase(devices_.find(oldest->id));
  return true;
}

void DeviceTable::Erase(Rows::iterator it) {
  if (it->second->behind != nullptr) DropBehind(it->second.get());
  Uncount(it->second.get());
  devices_.erase(it);
}

Device* DeviceTable::FindBehind(const Device* bridge, std::string_view id) {
  if (bridge->behind == nullptr) return nullptr;
  const auto it = bridge->behind->devices.find(id);
  return it == bridge->behind->devices.end() ? nullptr : it->second.get();
}

Device* DeviceTable::GetBehind(Device* bridge, std::string_view id, int64_t now_us) {
  if (Device* const device = FindBehind(bridge, id); device != nullptr) return device;
  SEGANET_REQUIRE(identities_->active());
  if (bridge->behind == nullptr) {
    bridge->behind = std::make_unique<DevicesBehind>(identities_->NewSpeaker());
    bridges_.insert(bridge);
  }
  DevicesBehind& behind = *bridge->behind;
  if (behind.devices.size() >= kMaxBehind || behind_ >= limit_ / 2) {
    const Device* const absent = LongestAbsent(behind.devices, &behind.next_bucket,
                                               [](const Device& each) { return !each.counted; });
    if (absent == nullptr) return nullptr;
    behind.devices.erase(behind.devices.find(absent->id));
    --behind_;
  } else if (is_full() && !EvictOne()) {
    return nullptr;
  }
  auto device = std::make_unique<Device>();
  device->id = id;
  device->slot = bridge->slot;
  device->last_seen_us = now_us;
  device->place = std::make_unique<Device::Place>(Device::Place{bridge, {}});
  device->identity = IdentityRef(identities_, id, 0, behind.speaker);
  ++behind_;
  const std::string_view key = device->id;
  return behind.devices.emplace(key, std::move(device)).first->second.get();
}

void DeviceTable::DropBehind(Device* bridge) {
  for (auto& [id, device] : bridge->behind->devices) Uncount(device.get());
  Forget(bridge);
  bridge->behind = nullptr;
}

// The table no longer has the devices behind a bridge.
void DeviceTable::Forget(Device* bridge) {
  bridges_.erase(bridge);
  behind_ -= bridge->behind->devices.size();
}

void DeviceTable::JoinAll() {
  for (auto& [id, device] : devices_) {
    if (device->identity) continue;
    device->identity = IdentityRef(identities_, id, device->next_seq, 0);
    UpdateOwn(device.get());
  }
}

void DeviceTable::UpdateOwn(Device* device) {
  if (!device->identity) return;
  identities_->SetOwn(device->identity.get(),
                      device->agent != nullptr || device->observing || device->proven_at != 0);
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
  UpdateOwn(device);
  if (device->behind == nullptr) return;
  for (auto& [id, each] : device->behind->devices) {
    Uncount(each.get());
    if (each->identity.speaks()) {
      each->identity->spoken_us.store(Identity::kEnded, std::memory_order_relaxed);
    }
  }
}

void DeviceTable::Sweep(int64_t now_us) {
  if (now_us <= next_due_us_) return;
  next_due_us_ = kNever;
  Sweep(devices_, now_us);
  for (const Device* bridge : bridges_) Sweep(bridge->behind->devices, now_us);
}

void DeviceTable::Sweep(const Rows& rows, int64_t now_us) {
  for (auto& [id, device] : rows) {
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
