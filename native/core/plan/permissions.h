// What a device may publish, and what it may subscribe to.
#ifndef SEGANET_CORE_PLAN_PERMISSIONS_H_
#define SEGANET_CORE_PLAN_PERMISSIONS_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/plan/plan.h"

namespace seganet {

// Devices are ids or globs of 1..kMaxDeviceBytes bytes, filters valid, and no more than
// kMaxPermissions rows of kMaxPermissionFilters each way.
Status ValidatePermissions(const std::vector<Permission>& rows);

// Whether all topics that `filter` matches are matched by `allowed`. REQUIRES: both are valid.
bool FilterCovers(std::string_view allowed, std::string_view filter);

// Thread safety: immutable after construction.
class DevicePermissions {
 public:
  // Those of `device`: the first row that matches, or nothing is allowed. Null when there are no
  // rows: everything is. To be asked once a connection. REQUIRES: ValidatePermissions(rows).ok().
  static std::unique_ptr<const DevicePermissions> Of(const std::vector<Permission>& rows,
                                                     std::string_view device);

  bool MayPublish(std::string_view topic) const;
  bool MaySubscribe(std::string_view filter) const;

 private:
  std::vector<std::string> publish_;
  std::vector<std::string> subscribe_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_PLAN_PERMISSIONS_H_
