// Permissions: the topics that a device may publish and subscribe to.
#ifndef SEGANET_CORE_PLAN_PERMISSIONS_H_
#define SEGANET_CORE_PLAN_PERMISSIONS_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/plan/plan.h"

namespace seganet {

// Checks that each device is an id or glob of 1..kMaxDeviceBytes bytes, that all filters are valid,
// and that there are at most kMaxPermissions rows with kMaxPermissionFilters filters per direction.
Status ValidatePermissions(const std::vector<Permission>& rows);

// Checks that each client is an id or glob of 1..kMaxDeviceBytes bytes, that all filters are valid,
// and that there are at most kMaxSubscriberRows rows with kMaxSubscriberFilters filters.
Status ValidateSubscribers(const std::vector<SubscriberRow>& rows);

// Returns the filters of the first row that matches; empty = `client` is no subscriber. O(rows).
std::vector<std::string> ReadableBy(const std::vector<SubscriberRow>& rows,
                                    std::string_view client);

// True if `allowed` matches all topics that `filter` matches. REQUIRES: both are valid filters.
bool FilterCovers(std::string_view allowed, std::string_view filter);

// The permissions of one device.
//
// Thread safety: immutable after construction.
class DevicePermissions {
 public:
  // Returns the permissions of `device` by the first row that matches; if none matches, nothing is
  // allowed. Returns null if there are no rows: everything is allowed. O(rows): call it once per
  // connection. REQUIRES: ValidatePermissions(rows).ok().
  // `name` replaces {device}.
  static std::unique_ptr<const DevicePermissions> Of(const std::vector<Permission>& rows,
                                                     std::string_view device,
                                                     std::string_view name);
  static std::unique_ptr<const DevicePermissions> Of(const std::vector<Permission>& rows,
                                                     std::string_view device) {
    return Of(rows, device, device);
  }

  bool MayPublish(std::string_view topic) const;
  bool MaySubscribe(std::string_view filter) const;
  // False if the device may publish nothing.
  bool publishes() const { return !publish_.empty(); }

 private:
  std::vector<std::string> publish_;
  std::vector<std::string> subscribe_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_PLAN_PERMISSIONS_H_
