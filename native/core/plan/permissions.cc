#include "core/plan/permissions.h"

#include <algorithm>
#include <utility>

#include "core/base/require.h"
#include "core/record/record.h"
#include "core/record/rules.h"

namespace seganet {
namespace {

constexpr std::string_view kPlaceholder = "{device}";

std::string Replaced(std::string_view filter, std::string_view device) {
  std::string text(filter);
  for (size_t at = text.find(kPlaceholder); at != std::string::npos;
       at = text.find(kPlaceholder, at + device.size())) {
    text.replace(at, kPlaceholder.size(), device);
  }
  return text;
}

// Returns the filters with the device's id in place of the placeholder. An id such as "#" must not
// turn the placeholder into a wildcard, and an id with a slash must not add levels: a device with
// such an id gets no filter that contains a placeholder.
std::vector<std::string> FiltersOf(const std::vector<std::string>& filters,
                                   std::string_view device) {
  const bool plain = device.find_first_of("+#/") == std::string_view::npos;
  std::vector<std::string> result;
  for (const std::string& filter : filters) {
    if (filter.find(kPlaceholder) == std::string::npos) {
      result.push_back(filter);
    } else if (plain) {
      result.push_back(Replaced(filter, device));
    }
  }
  return result;
}

// Removes the next level from `rest` and returns it. Sets `more` if another level follows.
std::string_view NextLevel(std::string_view* rest, bool* more) {
  const size_t slash = rest->find('/');
  const std::string_view level = rest->substr(0, slash);
  *more = slash != std::string_view::npos;
  *rest = *more ? rest->substr(slash + 1) : std::string_view();
  return level;
}

}  // namespace

Status ValidatePermissions(const std::vector<Permission>& rows) {
  if (rows.size() > kMaxPermissions) {
    return Status::InvalidArgument("more than " + std::to_string(kMaxPermissions) + " permissions");
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string which = "permission " + std::to_string(i + 1);
    if (rows[i].device.empty() || rows[i].device.size() > kMaxDeviceBytes) {
      return Status::InvalidArgument(which + ": device must be 1 to 256 bytes");
    }
    for (const auto* filters : {&rows[i].publish, &rows[i].subscribe}) {
      if (filters->size() > kMaxPermissionFilters) {
        return Status::InvalidArgument(which + ": more than " +
                                       std::to_string(kMaxPermissionFilters) + " filters");
      }
      for (const std::string& filter : *filters) {
        if (!ValidTopicFilter(Replaced(filter, "d"))) {
          std::string message = which;
          message.append(": '").append(filter).append("' is not an MQTT topic filter");
          return Status::InvalidArgument(std::move(message));
        }
      }
    }
  }
  return {};
}

Status ValidateSubscribers(const std::vector<SubscriberRow>& rows) {
  if (rows.size() > kMaxSubscriberRows) {
    return Status::InvalidArgument("more than " + std::to_string(kMaxSubscriberRows) +
                                   " subscribers");
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string which = "subscriber " + std::to_string(i + 1);
    if (rows[i].client.empty() || rows[i].client.size() > kMaxDeviceBytes) {
      return Status::InvalidArgument(which + ": client must be 1 to 256 bytes");
    }
    if (rows[i].filters.empty() || rows[i].filters.size() > kMaxSubscriberFilters) {
      return Status::InvalidArgument(which + ": must have 1 to " +
                                     std::to_string(kMaxSubscriberFilters) + " filters");
    }
    for (const std::string& filter : rows[i].filters) {
      if (ValidTopicFilter(filter)) continue;
      return Status::InvalidArgument(
          std::string(which).append(": '").append(filter).append("' is not an MQTT topic filter"));
    }
  }
  return {};
}

std::vector<std::string> ReadableBy(const std::vector<SubscriberRow>& rows,
                                    std::string_view client) {
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const SubscriberRow& each) {
    return GlobMatches(each.client, client);
  });
  return row == rows.end() ? std::vector<std::string>() : row->filters;
}

bool FilterCovers(std::string_view allowed, std::string_view filter) {
  bool more_allowed = true;
  bool more_filter = true;
  while (more_allowed) {
    const std::string_view may = NextLevel(&allowed, &more_allowed);
    if (may == "#") return true;
    if (!more_filter) return false;
    const std::string_view wants = NextLevel(&filter, &more_filter);
    if (wants == "#" || (may != "+" && may != wants)) return false;
  }
  return !more_filter;
}

std::unique_ptr<const DevicePermissions> DevicePermissions::Of(const std::vector<Permission>& rows,
                                                               std::string_view device,
                                                               std::string_view name) {
  SEGANET_REQUIRE(rows.size() <= kMaxPermissions);  // the whole check would not be O(1)
  if (rows.empty()) return nullptr;
  auto result = std::make_unique<DevicePermissions>();
  for (const Permission& row : rows) {
    if (!GlobMatches(row.device, device)) continue;
    result->publish_ = FiltersOf(row.publish, name);
    result->subscribe_ = FiltersOf(row.subscribe, name);
    break;
  }
  return result;
}

bool DevicePermissions::MayPublish(std::string_view topic) const {
  return std::any_of(publish_.begin(), publish_.end(),
                     [&](const std::string& filter) { return TopicMatches(filter, topic); });
}

bool DevicePermissions::MaySubscribe(std::string_view filter) const {
  return std::any_of(subscribe_.begin(), subscribe_.end(),
                     [&](const std::string& allowed) { return FilterCovers(allowed, filter); });
}

}  // namespace seganet
