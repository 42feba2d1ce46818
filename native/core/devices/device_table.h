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
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/keyed_hash.h"
#include "core/devices/device_events.h"
#include "core/devices/identities.h"
#include "core/loop/rate_meter.h"
#include "core/loop/token_bucket.h"
#include "core/plan/permissions.h"

namespace seganet {

class Agent;
class DeviceValues;
struct DevicesBehind;

struct Device {
  Device();
  ~Device();

  std::string id;
  uint16_t slot = 0;      // Placement::SlotOf; behind a bridge, the bridge's
  uint32_t next_seq = 0;  // without `identity`
  // 0 = not in this run: the row has only values of an earlier run.
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
  // If the engine has bridges (Identities): what all rows of this id share, where this row is
  // behind a bridge, and the devices behind this one.
  struct Place {
    Device* bridge;      // its row
    std::string prefix;  // topic of the latest record up to the level with the id
  };
  IdentityRef identity;
  std::unique_ptr<Place> place;
  std::unique_ptr<DevicesBehind> behind;
  std::unique_ptr<DeviceValues> values;  // null = none; see LastValues

  // Returns the bridge that this row is behind; null = none.
  Device* bridge() const { return place == nullptr ? nullptr : place->bridge; }
  // Returns the number of the next record.
  uint32_t TakeSeq() {
    return identity ? identity->next_seq.fetch_add(1, std::memory_order_relaxed) : next_seq++;
  }
  // True if this row is the one to show of its id.
  bool speaks() const { return !identity || identity.speaks(); }

  // Updates the statistics of the agent registry by a record from source stage `from`.
  void CountRecord(uint32_t from, uint8_t record_class, size_t payload_bytes, int64_t now_us) {
    stage = from;
    latest_class = record_class;
    meter.Add(now_us);
    ++records;
    bytes += payload_bytes;
  }
};

// The devices behind a bridge. They are a part of its row, so that they stay on its worker and move
// with it.
struct DevicesBehind {
  explicit DevicesBehind(uint32_t number) : speaker(number) {}

  const uint32_t speaker;  // Identities::NewSpeaker
  bool is_told = true;     // false: commands for them may now be sent, which is to be reported
  size_t next_bucket = 0;  // of the next eviction
  // The keys point into the rows.
  std::unordered_map<std::string_view, std::unique_ptr<Device>, KeyedStringHash> devices;
};

// Thread safety: owned by one worker.
class DeviceTable {
 public:
  // A device that only push() knows counts as connected for this long after its last record.
  static constexpr int64_t kPushedUs = 60'000'000;
  // Devices behind one bridge. All bridges together have at most half of the table's limit, so that
  // they leave room for other devices.
  static constexpr size_t kMaxBehind = 10'000;

  // `connected` is the engine's number of devices (the paper's n). `identities` outlives this.
  DeviceTable(size_t limit, std::atomic<int64_t>* connected, Identities* identities)
      : limit_(limit), connected_(connected), identities_(identities) {}
  ~DeviceTable();

  // Returns the device's row, and creates it if it is new. A full table evicts a device without a
  // connection, the longest absent of a sample. Returns nullptr if there is none to evict.
  Device* Get(std::string_view id, int64_t now_us);

  // Returns the row of a device behind a bridge, and creates it if it is new. If a limit is
  // reached, evicts a device behind this bridge that does not count as connected. Returns nullptr
  // if there is none. REQUIRES: Identities::Activate was called.
  Device* GetBehind(Device* bridge, std::string_view id, int64_t now_us);
  // Returns the row of a device behind a bridge, or nullptr if there is none.
  static Device* FindBehind(const Device* bridge, std::string_view id);
  // Removes the devices behind a bridge.
  void DropBehind(Device* bridge);

  // Has rows that were created before Identities::Activate join.
  void JoinAll();
  // To be called after a change of Device::agent, observing or proven_at: no bridge may speak for a
  // device that has one of them.
  void UpdateOwn(Device* device);

  // Marks a device as present, which makes it count as connected.
  void Count(Device* device, int64_t now_us);

  // Makes it count no longer.
  void Uncount(Device* device);

  // Devices without a connection stop counting as connected when they were not seen for kPushedUs.
  // To be called regularly; walks the table only if a device may be due.
  void Sweep(int64_t now_us);

  // The connection of `device` has ended. The devices behind it do not count as connected either.
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
      if (it->second->behind != nullptr) Forget(it->second.get());
      taken.push_back(std::move(it->second));
      it = devices_.erase(it);
    }
    return taken;
  }
  // Adds a row of another table. A full table evicts a device as Get does, or exceeds its limit.
  // REQUIRES: Device::agent is set if the device is connected; otherwise the next Put may evict it.
  Device* Put(std::unique_ptr<Device> device);

  // The number of rows, also of those behind bridges.
  size_t size() const { return devices_.size() + behind_; }
  bool is_full() const { return size() >= limit_; }
  // Returns the device's own row, or nullptr if there is none.
  Device* Find(std::string_view id) const {
    const auto it = devices_.find(id);
    return it == devices_.end() ? nullptr : it->second.get();
  }
  // Calls change(Device*) for each row that is not behind a bridge.
  template <typename Change>
  void Update(Change&& change) {
    for (auto& [id, device] : devices_) change(device.get());
  }
  // Calls see(const Device&) for each row that is not behind a bridge.
  template <typename See>
  void ForEach(See&& see) const {
    for (const auto& [id, device] : devices_) see(*device);
  }
  // Calls see(Device*) for each bridge with devices behind it.
  template <typename See>
  void ForEachBridge(See&& see) const {
    for (Device* bridge : bridges_) see(bridge);
  }

 private:
  using Rows = std::unordered_map<std::string_view, std::unique_ptr<Device>, KeyedStringHash>;

  void Sweep(const Rows& rows, int64_t now_us);
  bool EvictOne();
  void Erase(Rows::iterator it);
  void Forget(Device* bridge);

  const size_t limit_;
  std::atomic<int64_t>* const connected_;
  Identities* const identities_;
  int64_t next_due_us_ = kNever;  // no device stops counting before this time
  size_t next_bucket_ = 0;
  Rows devices_;                         // the keys point into the rows
  std::unordered_set<Device*> bridges_;  // rows with devices behind them
  size_t behind_ = 0;                    // number of these devices
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_DEVICE_TABLE_H_
