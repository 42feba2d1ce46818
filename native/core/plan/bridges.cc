#include "core/plan/bridges.h"

#include <algorithm>
#include <utility>

#include "core/base/require.h"
#include "core/record/condition.h"
#include "core/record/record.h"
#include "core/record/rules.h"

namespace seganet {
namespace {

constexpr std::string_view kDeviceLevel = "{device}";

// Returns the filter with + for {device}, whose level it puts into `*level`; empty if {device} is
// not exactly one whole level.
std::string FilterOf(std::string_view topic, size_t* level) {
  const size_t at = topic.find(kDeviceLevel);
  if (at == std::string_view::npos || topic.find(kDeviceLevel, at + 1) != std::string_view::npos) {
    return {};
  }
  const std::string_view before = topic.substr(0, at);
  const std::string_view after = topic.substr(at + kDeviceLevel.size());
  if (!(before.empty() || before.back() == '/') || !(after.empty() || after.front() == '/')) {
    return {};
  }
  *level = static_cast<size_t>(std::count(before.begin(), before.end(), '/'));
  return std::string(before) + "+" + std::string(after);
}

Status ValidateRow(const BridgeRow& row) {
  if (row.bridge.empty() || row.bridge.size() > kMaxDeviceBytes) {
    return Status::InvalidArgument("device must be 1 to 256 bytes");
  }
  if (row.topic.empty() == row.member.empty()) {
    return Status::InvalidArgument("it needs either a topic or a member");
  }
  if (!row.member.empty()) {
    Path path;
    const Status status = ParsePath(row.member, &path);
    return status.ok() ? status : Status::InvalidArgument("member: " + status.message());
  }
  size_t level = 0;
  if (row.topic.size() > kMaxBridgeTopicBytes || !ValidTopicFilter(FilterOf(row.topic, &level))) {
    return Status::InvalidArgument("'" + row.topic +
                                   "' is not an MQTT topic filter of at most 1024 bytes in which "
                                   "one whole level is {device}");
  }
  return {};
}

}  // namespace

Status ValidateBridges(const std::vector<BridgeRow>& rows) {
  if (rows.size() > kMaxBridgeRows) {
    return Status::InvalidArgument("more than " + std::to_string(kMaxBridgeRows) + " bridges");
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    const Status status = ValidateRow(rows[i]);
    if (!status.ok()) {
      return Status::InvalidArgument("bridge " + std::to_string(i + 1) + ": " + status.message());
    }
  }
  return {};
}

std::unique_ptr<const BridgeRows> BridgeRows::Of(const std::vector<BridgeRow>& rows,
                                                 std::string_view bridge) {
  SEGANET_REQUIRE(rows.size() <= kMaxBridgeRows);  // the whole check would not be O(1)
  std::unique_ptr<BridgeRows> result;
  for (const BridgeRow& row : rows) {
    if (!GlobMatches(row.bridge, bridge)) continue;
    if (result == nullptr) result = std::make_unique<BridgeRows>();
    Row compiled;
    if (row.member.empty()) {
      compiled.filter = FilterOf(row.topic, &compiled.level);
    } else {
      Path path;
      ParsePath(row.member, &path);
      compiled.path = result->paths_.Add(path);
    }
    result->rows_.push_back(std::move(compiled));
  }
  if (result != nullptr) result->paths_.Build();
  return result;
}

BridgedDevice BridgeRows::DeviceOf(std::string_view topic, std::string_view payload,
                                   std::string* buffer) const {
  JsonValues values;
  bool is_read = false;
  for (const Row& row : rows_) {
    BridgedDevice device;
    if (!row.filter.empty()) {
      if (TopicMatches(row.filter, topic)) device = OfTopic(row, topic);
    } else {
      if (!is_read) paths_.Read(payload, &values);
      is_read = true;
      device.id = OfPayload(row, values, buffer);
    }
    const bool is_valid = !device.id.empty() && device.id.size() <= kMaxDeviceBytes &&
                          device.id.find('\0') == std::string_view::npos;
    if (is_valid) return device;
  }
  return {};
}

// REQUIRES: TopicMatches(row.filter, topic), so it has the level.
BridgedDevice BridgeRows::OfTopic(const Row& row, std::string_view topic) {
  size_t begin = 0;
  for (size_t level = 0; level < row.level; ++level) begin = topic.find('/', begin) + 1;
  const size_t end = std::min(topic.find('/', begin), topic.size());
  return {topic.substr(begin, end - begin), topic.substr(0, end)};
}

std::string_view BridgeRows::OfPayload(const Row& row, const JsonValues& values,
                                       std::string* buffer) const {
  const JsonKind kind = values.KindOf(paths_, row.path);
  if (kind == JsonKind::kNumber) return values.TextOf(paths_, row.path);
  if (kind != JsonKind::kString) return {};
  buffer->clear();
  JsonStringReader reader(values.TextOf(paths_, row.path));
  // One more than an id may have, by which a longer one is noticed.
  for (int byte = reader.Next(); byte >= 0 && buffer->size() <= kMaxDeviceBytes;
       byte = reader.Next()) {
    buffer->push_back(static_cast<char>(byte));
  }
  return *buffer;
}

}  // namespace seganet
