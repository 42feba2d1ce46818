// Reports devices that connect and disconnect: events for JavaScript, and presence records at the
// devices' source.
#ifndef SEGANET_CORE_DEVICES_PRESENCE_H_
#define SEGANET_CORE_DEVICES_PRESENCE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/counters.h"
#include "core/devices/device_events.h"
#include "core/devices/device_table.h"
#include "core/plan/plan.h"

namespace seganet {

// Returns the topic of a device's presence records: `pattern` with {device} replaced by the id.
// [MQTT-3.3.2-2] A topic name has no wildcards, so + and # of the id become _.
std::string PresenceTopic(std::string_view pattern, std::string_view device);

// Returns the JSON payload of a presence record; `end` null = connected.
std::string PresencePayload(Protocol protocol, const DeviceEnd* end);

// Thread safety: owned by one worker.
class Presence {
 public:
  // Runs a record that the gateway makes for a device.
  using Emit = std::function<void(Device*, std::string_view topic, std::string_view payload)>;

  Presence(uint32_t worker, DeviceEvents* events, CounterBlock* counters, Emit emit);

  // Report a change of the device. Device::stage and address are those of its connection; `source`
  // has the settings of its stage.
  void Connected(Device* device, const SourceSettings& source);
  void Disconnected(Device* device, const SourceSettings& source, DeviceEnd end);
  void Listening(Device* device);

  // Stops all reports, because the engine stops.
  void Mute() { muted_ = true; }

 private:
  void Report(Device* device, DeviceEventKind kind, DeviceEnd end);
  void Record(Device* device, const SourceSettings& source, const DeviceEnd* end);

  const uint32_t worker_;
  DeviceEvents* const events_;
  CounterBlock* const counters_;
  const Emit emit_;
  bool muted_ = false;
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_PRESENCE_H_
