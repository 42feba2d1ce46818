#include "core/devices/device_events.h"

namespace seganet {

const char* Name(DeviceEventKind kind) {
  static constexpr const char* kNames[] = {"connected", "disconnected", "listening"};
  return kNames[static_cast<size_t>(kind)];
}

const char* Name(DeviceEnd end) {
  static constexpr const char* kNames[] = {"closed",    "protocol", "keepAlive",
                                           "takenOver", "stopped",  "expired"};
  return kNames[static_cast<size_t>(end)];
}

}  // namespace seganet
