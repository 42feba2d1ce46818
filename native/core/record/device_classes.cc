#include "core/record/device_classes.h"

#include <algorithm>

#include "core/base/require.h"
#include "core/record/record.h"
#include "core/record/rules.h"

namespace seganet {
namespace {

bool IsGlob(std::string_view device) {
  return device.find_first_of("*?") != std::string_view::npos;
}

}  // namespace

Status ValidateDeviceClasses(const std::vector<DeviceClass>& rows) {
  if (rows.size() > kMaxDeviceClasses) {
    return Status::InvalidArgument("more than " + std::to_string(kMaxDeviceClasses) +
                                   " registered devices");
  }
  size_t globs = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string which = "registered device " + std::to_string(i + 1);
    if (rows[i].device.empty() || rows[i].device.size() > kMaxDeviceBytes) {
      return Status::InvalidArgument(which + ": its id or pattern must be 1 to 256 bytes");
    }
    if (!ValidClass(rows[i].record_class)) {
      return Status::InvalidArgument(which + ": class must be 1 to " + std::to_string(kClasses));
    }
    if (IsGlob(rows[i].device) && ++globs > kMaxDeviceGlobs) {
      return Status::InvalidArgument("more than " + std::to_string(kMaxDeviceGlobs) +
                                     " registered devices with * or ?");
    }
  }
  return {};
}

DeviceClasses::DeviceClasses(std::vector<DeviceClass> rows) : rows_(std::move(rows)) {
  SEGANET_REQUIRE(ValidateDeviceClasses(rows_).ok());
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (IsGlob(rows_[i].device)) {
      globs_.push_back(i);
    } else {
      whole_.emplace(rows_[i].device, i);
    }
  }
}

uint8_t DeviceClasses::Of(std::string_view device) const {
  size_t first = rows_.size();
  if (const auto it = whole_.find(device); it != whole_.end()) first = it->second;
  for (size_t i : globs_) {
    if (i > first) break;
    if (GlobMatches(rows_[i].device, device)) {
      first = i;
      break;
    }
  }
  return first < rows_.size() ? rows_[first].record_class : 0;
}

}  // namespace seganet
