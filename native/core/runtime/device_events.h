// What happened to devices, on its way from the workers to JavaScript.
#ifndef SEGANET_CORE_RUNTIME_DEVICE_EVENTS_H_
#define SEGANET_CORE_RUNTIME_DEVICE_EVENTS_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/base/doorbell.h"

namespace seganet {

enum class DeviceEventKind : uint8_t { kConnected, kDisconnected, kListening };

// Why a device is not connected any more.
enum class DeviceEnd : uint8_t { kClosed, kProtocol, kKeepAlive, kTakenOver, kStopped, kExpired };

// As JavaScript has them (native/index.d.ts, DeviceEvent).
const char* Name(DeviceEventKind kind);
const char* Name(DeviceEnd end);

struct DeviceEvent {
  DeviceEventKind kind = DeviceEventKind::kConnected;
  DeviceEnd end = DeviceEnd::kClosed;  // of kDisconnected
  uint32_t stage = 0;                  // of its source
  uint32_t worker = 0;
  std::string device;
  std::string address;
};

// Thread safety: any thread. The events of a device come from its worker, and stay in order.
class DeviceEvents {
 public:
  static constexpr size_t kMost = 65'536;

  // `bell` rings when events wait; it outlives this.
  explicit DeviceEvents(Doorbell* bell) : bell_(bell) {}

  // False: too many wait, and this one is lost.
  bool Add(DeviceEvent event) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (waiting_.size() >= kMost) return false;
      waiting_.push_back(std::move(event));
    }
    bell_->Ring();
    return true;
  }

  std::vector<DeviceEvent> Take() {
    bell_->Answer();
    std::vector<DeviceEvent> taken;
    const std::lock_guard<std::mutex> lock(mutex_);
    taken.swap(waiting_);
    return taken;
  }

 private:
  Doorbell* const bell_;
  std::mutex mutex_;
  std::vector<DeviceEvent> waiting_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_DEVICE_EVENTS_H_
