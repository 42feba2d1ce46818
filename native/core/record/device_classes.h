// Registered devices: the class that a device's records have before any priority stage.
#ifndef SEGANET_CORE_RECORD_DEVICE_CLASSES_H_
#define SEGANET_CORE_RECORD_DEVICE_CLASSES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/status.h"

namespace seganet {

// One row of the register: a device id, or a glob of ids (record/rules.h).
struct DeviceClass {
  std::string device;
  uint8_t record_class = 0;

  bool operator==(const DeviceClass&) const = default;
};

// Limits of the register. Whole ids are found by hash; each row with a wildcard is tried for each
// device that connects.
inline constexpr size_t kMaxDeviceClasses = 10'000;
inline constexpr size_t kMaxDeviceGlobs = 1024;

// Checks that each row has a device of 1..kMaxDeviceBytes bytes and a valid class, and that there
// are at most kMaxDeviceClasses rows, kMaxDeviceGlobs of them with wildcards.
Status ValidateDeviceClasses(const std::vector<DeviceClass>& rows);

// Thread safety: immutable after construction.
class DeviceClasses {
 public:
  // REQUIRES: ValidateDeviceClasses(rows).ok().
  explicit DeviceClasses(std::vector<DeviceClass> rows);

  // Returns the class of the first row that matches; 0 = the device is not registered. O(rows with
  // wildcards): call it once per connection.
  uint8_t Of(std::string_view device) const;

  const std::vector<DeviceClass>& rows() const { return rows_; }

 private:
  const std::vector<DeviceClass> rows_;
  std::unordered_map<std::string_view, size_t> whole_;  // id → its first row
  std::vector<size_t> globs_;                           // rows with a wildcard
};

}  // namespace seganet

#endif  // SEGANET_CORE_RECORD_DEVICE_CLASSES_H_
