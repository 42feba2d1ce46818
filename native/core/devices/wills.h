// The wills of devices whose connection has ended.
#ifndef SEGANET_CORE_DEVICES_WILLS_H_
#define SEGANET_CORE_DEVICES_WILLS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/loop/memory_share.h"

namespace seganet {

// A will as a record of its device.
struct WillRecord {
  std::string device;
  uint32_t stage = 0;
  std::string topic;
  std::string payload;
  uint8_t flags = 0;
  uint8_t record_class = 0;  // 0 = the device named none
};

// [MQTT-3.1.2-8] A will is published when the connection ends without a DISCONNECT; in MQTT 5 after
// its delay, unless the device's session continues before (5: 3.1.3.2.2).
//
// Thread safety: owned by one worker.
class Wills {
 public:
  using Publish = std::function<void(const WillRecord&)>;

  // Delayed wills count against `memory`; if it is full, a will is published at once.
  Wills(MemoryShare* memory, Publish publish);
  ~Wills();

  // The connection of the will's device has ended: publishes the will after `delay_s`.
  void Ended(WillRecord will, uint32_t delay_s, int64_t now_us);

  // Drops the device's will: the device is back, and its session continues.
  void Cancel(std::string_view device);

  // Publishes the device's will: its session has ended.
  void SessionEnded(std::string_view device);

  // Publishes the wills that are due. To be called several times a second.
  void OnTime(int64_t now_us);

  // Publishes all wills. Called when the gateway stops, while records can still be accepted.
  void PublishAll();

  // Publishes the wills for which leaves(stage) is true: their stage is about to leave the plan.
  template <typename Leaves>
  void PublishOf(Leaves&& leaves) {
    for (auto it = waiting_.begin(); it != waiting_.end();) {
      const auto at = it++;
      if (leaves(at->second.will.stage)) publish_(Remove(at));
    }
  }

  // Ignores all wills from now on.
  void Mute() { muted_ = true; }

  // A delayed will of a device that moves to another worker; moving does not end the connection.
  struct Moved {
    WillRecord will;
    int64_t due_us;
  };
  template <typename Leaves>
  std::vector<Moved> Take(Leaves&& leaves) {
    std::vector<Moved> taken;
    for (auto it = waiting_.begin(); it != waiting_.end();) {
      const auto at = it++;
      if (!leaves(std::string_view(at->first))) continue;
      const int64_t due_us = at->second.due->first;
      taken.push_back({Remove(at), due_us});
    }
    return taken;
  }
  void Put(Moved moved);

  size_t waiting() const { return waiting_.size(); }

 private:
  struct Waiting {
    WillRecord will;
    int64_t bytes;
    std::multimap<int64_t, std::string>::iterator due;
  };
  using All = std::map<std::string, Waiting, std::less<>>;

  WillRecord Remove(All::iterator it);
  void Wait(WillRecord will, int64_t due_us);

  MemoryShare* const memory_;
  const Publish publish_;
  bool muted_ = false;
  All waiting_;                              // by device
  std::multimap<int64_t, std::string> due_;  // devices by time
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_WILLS_H_
