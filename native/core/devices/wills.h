// What devices left to be published about their end.
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

// A will, as a record of its device.
struct WillRecord {
  std::string device;
  uint32_t stage = 0;
  std::string topic;
  std::string payload;
  uint8_t flags = 0;
  uint8_t record_class = 0;  // 0 = the device did not say
};

// [MQTT-3.1.2-8] A will is published when the connection ends other than by DISCONNECT; in MQTT 5
// after its delay, unless the device's session goes on before (5: 3.1.3.2.2).
//
// Thread safety: owned by one worker.
class Wills {
 public:
  using Publish = std::function<void(const WillRecord&)>;

  // Those that wait take what `memory` has; one for which there is nothing left is published at
  // once.
  Wills(MemoryShare* memory, Publish publish);
  ~Wills();

  // The connection of the will's device has ended.
  void Ended(WillRecord will, uint32_t delay_s, int64_t now_us);

  // The device is back, and its session goes on.
  void Cancel(std::string_view device);

  // The session of the device is over: a will that waits does not wait longer.
  void SessionEnded(std::string_view device);

  // To be called some times a second.
  void OnTime(int64_t now_us);

  // The gateway is about to end: later there is nobody to publish those that wait.
  void PublishAll();

  // From now on there are none.
  void Mute() { muted_ = true; }

  // Of devices that go to another worker: it was not their end.
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
