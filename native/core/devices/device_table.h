// The devices that a worker owns: their sequence numbers, connections and statistics, and how many
// count as connected.
#ifndef SEGANET_CORE_DEVICES_DEVICE_TABLE_H_
#define SEGANET_CORE_DEVICES_DEVICE_TABLE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/keyed_hash.h"
#include "core/devices/device_events.h"
#include "core/loop/rate_meter.h"
#include "core/loop/token_bucket.h"
#include "core/plan/permissions.h"

namespace seganet {

class Agent;

struct Device {
  std::string id;
  uint16_t slot = 0;  // Placement::SlotOf
  uint32_t next_seq = 0;
  int64_t last_seen_us = 0;
  Agent* agent = nullptr;  // its open connection
  bool counted = false;    // in the engine's number of devices
  // A CoAP device over UDP observes its commands. Such a row is not evicted.
  bool observing = false;
  // The source stage where a connection has proven this id; 0 = none since that stage was opened.
  // Connections and datagrams without a proof are not served under this id.
  uint32_t proven_at = 0;
  // For the agent registry: of the latest connection or record.
  uint8_t latest_class = 0;
  uint32_t stage = 0;
  uint64_t records = 0;
  uint64_t bytes = 0;  // of payloads
  RateMeter meter;
  std::string address;
  DeviceEventNumbers events{};
  // For SourceSettings::rate; outlives connections.
  TokenBucket bucket;
  // For devices over UDP, which have no agent: the settings of source stage `registered_at` in plan
  // number `registered_in` (see Agent::registered_class and permissions), and a hash that detects a
  // changed remote address.
  uint32_t registered_in = 0;
  uint32_t registered_at = 0;
  uint8_t registered_class = 0;
  uint32_t far_end_hash = 0;
  std::unique_ptr<const DevicePermissions> permissions;

  // Updates the statistics of the agent registry by a record from source stage `from`.
  void CountRecord(uint32_t from, uint8_t record_class, size_t payload_bytes, int64_t now_us) {
    stage = from;
    latest_class = record_class;
    meter.Add(now_us);
    ++records;
    bytes += payload_bytes;
  }
};

// Thread safety: owned by one worker.
class DeviceTable {
 public:
  // A device that only push() knows counts as connected for this long after its last record.
  static constexpr int64_t kPushedUs = 60'000'000;

  // `connected` is the engine's number of devices (the paper's n).
  DeviceTable(size_t limit, std::atomic<int64_t>* connected)
      : limit_(limit), connected_(connected) {}
  ~DeviceTable();

  // Returns the device's row, and creates it if it is new. A full table evicts a device without a
  // connection, the longest absent of a sample. Returns nullptr if there is none to evict.
  Device* Get(std::string_view id, int64_t now_us);

  // Marks a device as present, which makes it count as connected.
  void Count(Device* device, int64_t now_us);

  // Devices without a connection stop counting as connected when they were not seen for kPushedUs.
  // To be called regularly; walks the table only if a device may be due.
  void Sweep(int64_t now_us);

  // The connection of `device` has ended.
  void Disconnected(Device* device);

  // Removes and returns the rows for which leaves(const Device&) is true. They keep counting as
  // connected.
  template <typename Leaves>
  std::vector<std::unique_ptr<Device>> Take(Leaves&& leaves) {
    std::vector<std::unique_ptr<Device>> taken;
    for (auto it = devices_.begin(); it != devices_.end();) {
      if (!leaves(*it->second)) {
        ++it;
        continue;
      }
      taken.push_back(std::move(it->second));
      it = devices_.erase(it);
    }
    return taken;
  }
  // Adds a row of another table. A full table evicts a device as Get does, or exceeds its limit.
  // REQUIRES: Device::agent is set if the device is connected; otherwise the next Put may evict it.
  Device* Put(std::unique_ptr<Device> device);

  size_t size() const { return devices_.size(); }
  // Returns the device's row, or nullptr if there is none.
  Device* Find(std::string_view id) const {
    const auto it = devices_.find(id);
    return it == devices_.end() ? nullptr : it->second.get();
  }
  // Calls change(Device*) for each row.
  template <typename Change>
  void Update(Change&& change) {
    for (auto& [id, device] : devices_) change(device.get());
  }
  // Calls see(const Device&) for each row.
  template <typename See>
  void ForEach(See&& see) const {
    for (const auto& [id, device] : devices_) see(*device);
  }

 private:
  void Uncount(Device* device);
  bool EvictOne();

  const size_t limit_;
  std::atomic<int64_t>* const connected_;
  int64_t next_due_us_ = kNever;  // no device stops counting before this time
  size_t next_bucket_ = 0;
  // The keys point into the rows.
  std::unordered_map<std::string_view, std::unique_ptr<Device>, KeyedStringHash> devices_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_DEVICE_TABLE_H_
