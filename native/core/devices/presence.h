// What others learn of devices that come and go: events for JavaScript, and presence records of the
// devices at their source.
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

// The topic that a source's presence records of a device have. [MQTT-3.3.2-2] A topic name has no
// wildcards: those of a device id become _.
std::string PresenceTopic(std::string_view pattern, std::string_view device);

// JSON; `end` null = connected.
std::string PresencePayload(Protocol protocol, const DeviceEnd* end);

// Thread safety: owned by one worker.
class Presence {
 public:
  // A record that the gateway makes for a device.
  using Emit = std::function<void(Device*, std::string_view topic, std::string_view payload)>;

  Presence(uint32_t worker, DeviceEvents* events, CounterBlock* counters, Emit emit);

  // Device::stage and address are those of its connection. `source` is how its stage treats
  // devices.
  void Connected(Device* device, const SourceSettings& source);
  void Disconnected(Device* device, const SourceSettings& source, DeviceEnd end);
  void Listening(Device* device);

  // Nobody is left for what it tells.
  void Mute() { muted_ = true; }

 private:
  void Tell(Device* device, DeviceEventKind kind, DeviceEnd end);
  void Record(Device* device, const SourceSettings& source, const DeviceEnd* end);

  const uint32_t worker_;
  DeviceEvents* const events_;
  CounterBlock* const counters_;
  const Emit emit_;
  bool muted_ = false;
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_PRESENCE_H_
