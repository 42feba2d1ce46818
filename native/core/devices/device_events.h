// What happened to devices, on its way from the workers to JavaScript.
#ifndef SEGANET_CORE_DEVICES_DEVICE_EVENTS_H_
#define SEGANET_CORE_DEVICES_DEVICE_EVENTS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/base/doorbell.h"

namespace seganet {

enum class DeviceEventKind : uint8_t { kConnected, kDisconnected, kListening };
inline constexpr size_t kDeviceEventKinds = 3;

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

// The numbers of a device's latest events, by kind; 0 = none. Kept by whoever adds its events.
using DeviceEventNumbers = std::array<uint64_t, kDeviceEventKinds>;

// At most one event of a kind waits for a device, so that a device that comes and goes, or
// subscribes, without end takes no room from the others: a newer event replaces the older one.
//
// Thread safety: any thread. The events of a device come from its worker, and stay in order.
class DeviceEvents {
 public:
  static constexpr size_t kMost = 65'536;

  // `bell` rings when events wait; it outlives this.
  explicit DeviceEvents(Doorbell* bell) : bell_(bell) {}

  // `numbers` are the device's. False: too many wait, and this one is lost.
  bool Add(DeviceEvent event, DeviceEventNumbers* numbers) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (Replace(&event, numbers)) return true;
      if (waiting_.size() >= kMost) return false;
      NumberOf(event.kind, numbers) = first_ + waiting_.size();
      waiting_.push_back(std::move(event));
    }
    bell_->Ring();
    return true;
  }

  // The oldest, at most `most`. The caller comes again for the rest: they do not ring again.
  std::vector<DeviceEvent> Take(size_t most = kMost) {
    bell_->Answer();
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto end = waiting_.begin() + static_cast<ptrdiff_t>(std::min(most, waiting_.size()));
    std::vector<DeviceEvent> taken(std::make_move_iterator(waiting_.begin()),
                                   std::make_move_iterator(end));
    waiting_.erase(waiting_.begin(), end);
    first_ += taken.size();
    return taken;
  }

 private:
  static uint64_t& NumberOf(DeviceEventKind kind, DeviceEventNumbers* numbers) {
    return (*numbers)[static_cast<size_t>(kind)];
  }
  bool Waits(uint64_t number) const { return number >= first_; }
  DeviceEvent& At(uint64_t number) { return waiting_[number - first_]; }

  // True: no further event has to wait. "Listening" once is enough, as it is looked at when it is
  // taken. "Connected" and "disconnected" end with the newest, behind the one before it.
  bool Replace(DeviceEvent* event, DeviceEventNumbers* numbers) {
    uint64_t& connected = NumberOf(DeviceEventKind::kConnected, numbers);
    uint64_t& disconnected = NumberOf(DeviceEventKind::kDisconnected, numbers);
    if (event->kind == DeviceEventKind::kListening) return Waits(NumberOf(event->kind, numbers));
    if (!Waits(connected) || !Waits(disconnected)) return false;
    const uint64_t older = std::min(connected, disconnected);
    const uint64_t newer = std::max(connected, disconnected);
    At(older) = std::move(At(newer));
    At(newer) = std::move(*event);
    connected = disconnected = 0;
    NumberOf(At(older).kind, numbers) = older;
    NumberOf(At(newer).kind, numbers) = newer;
    return true;
  }

  Doorbell* const bell_;
  std::mutex mutex_;
  uint64_t first_ = 1;  // number of the first that waits
  std::deque<DeviceEvent> waiting_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_DEVICE_EVENTS_H_
