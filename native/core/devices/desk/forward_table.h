// Which devices a worker may forward requests to, and for whom.
#ifndef SEGANET_CORE_DEVICES_DESK_FORWARD_TABLE_H_
#define SEGANET_CORE_DEVICES_DESK_FORWARD_TABLE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace seganet {

enum class GrantRights : uint8_t { kNone = 0, kRead = 1, kReadWrite = 2 };

// An owner that may use another owner's device.
struct DeviceGrant {
  std::string owner;
  GrantRights rights = GrantRights::kNone;
};

// Grants of a connection. A request of an owner without one is decided by the desk.
inline constexpr size_t kMostGrants = 256;

// A device whose connection takes forwarded requests.
struct ForwardRow {
  std::string device;
  std::string owner;
  uint32_t stage = 0;   // source of the connection
  uint32_t worker = 0;  // that has the connection
  uint64_t connection = 0;
  int64_t until_us = 0;  // CLOCK_MONOTONIC
  std::vector<DeviceGrant> grants;

  bool Allows(std::string_view asker, bool only_reads) const {
    if (asker == owner) return true;
    const auto grant = std::find_if(grants.begin(), grants.end(), [asker](const DeviceGrant& each) {
      return each.owner == asker;
    });
    if (grant == grants.end()) return false;
    return only_reads || grant->rights == GrantRights::kReadWrite;
  }
};

// Each worker has a table of all devices, so that a request needs no lock. The worker of a device
// makes its rows and passes them to the other workers; they share the row.
//
// Thread safety: owned by one worker. Rows do not change.
class ForwardTable {
 public:
  void Put(std::shared_ptr<const ForwardRow> row) {
    Erase(row->device);
    const std::string_view key = row->device;
    rows_.emplace(key, std::move(row));
  }
  // Removes the row of a device, unless it is of another connection.
  void Remove(std::string_view device, uint64_t connection) {
    const auto found = rows_.find(device);
    if (found != rows_.end() && found->second->connection == connection) rows_.erase(found);
  }
  // Null for an unknown device.
  const ForwardRow* Find(std::string_view device) const {
    const auto found = rows_.find(device);
    return found == rows_.end() ? nullptr : found->second.get();
  }
  size_t size() const { return rows_.size(); }

 private:
  void Erase(std::string_view device) {
    if (const auto found = rows_.find(device); found != rows_.end()) rows_.erase(found);
  }

  // The keys point into the rows.
  std::unordered_map<std::string_view, std::shared_ptr<const ForwardRow>> rows_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_DESK_FORWARD_TABLE_H_
