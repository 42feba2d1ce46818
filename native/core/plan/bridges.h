// Bridges: clients that speak for many devices, such as Zigbee2MQTT or ChirpStack. Finds the device
// that a message of a bridge is of.
#ifndef SEGANET_CORE_PLAN_BRIDGES_H_
#define SEGANET_CORE_PLAN_BRIDGES_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/plan/plan.h"
#include "core/record/json_values.h"

namespace seganet {

// Limits of SourceSettings::bridges: rows, and bytes of a topic filter.
inline constexpr size_t kMaxBridgeRows = 64;
inline constexpr size_t kMaxBridgeTopicBytes = 1024;

// Checks that there are at most kMaxBridgeRows rows, and of each that the bridge is an id or glob
// of 1..kMaxDeviceBytes bytes and that it has a valid topic filter with one level {device}, or a
// valid path.
Status ValidateBridges(const std::vector<BridgeRow>& rows);

// The device that a message is of.
struct BridgedDevice {
  std::string_view id;  // 0..kMaxDeviceBytes bytes without NUL; empty = none, the bridge's own
  // The topic up to the level of the id; empty if the id is of the payload.
  std::string_view prefix;
};

// The rows of one bridge, compiled. Thread safety: immutable after construction.
class BridgeRows {
 public:
  // Returns the rows that match `bridge`; null if there are none. O(rows): call it once per
  // connection. REQUIRES: ValidateBridges(rows).ok().
  static std::unique_ptr<const BridgeRows> Of(const std::vector<BridgeRow>& rows,
                                              std::string_view bridge);

  // Returns the device of a message. The views refer to `topic`, `payload` and `*buffer`. Reads the
  // payload at most once, and only if no topic filter before gives an id.
  BridgedDevice DeviceOf(std::string_view topic, std::string_view payload,
                         std::string* buffer) const;

 private:
  struct Row {
    std::string filter;  // with + for {device}; empty: the id is of the payload
    size_t level = 0;    // of {device}, from 0
    size_t path = 0;     // in paths_
  };

  static BridgedDevice OfTopic(const Row& row, std::string_view topic);
  std::string_view OfPayload(const Row& row, const JsonValues& values, std::string* buffer) const;

  std::vector<Row> rows_;
  JsonPaths paths_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_PLAN_BRIDGES_H_
