// Events of devices, queued from the workers to JavaScript.
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

// Why a device is no longer connected.
enum class DeviceEnd : uint8_t { kClosed, kProtocol, kKeepAlive, kTakenOver, kStopped, kExpired };

// The names in JavaScript (DeviceEvent in native/index.d.ts).
const char* Name(DeviceEventKind kind);
const char* Name(DeviceEnd end);

struct DeviceEvent {
  DeviceEventKind kind = DeviceEventKind::kConnected;
  DeviceEnd end = DeviceEnd::kClosed;  // kDisconnected
  uint32_t stage = 0;                  // its source
  uint32_t worker = 0;
  std::string device;
  std::string address;
};

// The numbers of a device's latest events, by kind; 0 = none. Stored by the thread that adds the
// device's events.
using DeviceEventNumbers = std::array<uint64_t, kDeviceEventKinds>;

// At most one event of each kind waits for a device: a newer one replaces the older one. Therefore
// a device that connects or subscribes in an endless loop takes no room from others.
//
// Thread safety: any thread. The events of a device come from its worker and stay in order.
class DeviceEvents {
 public:
  static constexpr size_t kMost = 65'536;

  // `bell` rings when events wait; it outlives this.
  explicit DeviceEvents(Doorbell* bell) : bell_(bell) {}

  // Queues an event. `numbers` are the device's. Returns false if too many events wait and this one
  // is lost.
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

  // Takes out the oldest events, at most `most`. Events that remain do not ring the bell again, so
  // the caller must call again until none is left.
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

  // Returns true if no further event has to be queued. One "listening" is enough, because its
  // reader checks the current state. "Connected" and "disconnected" end with the newest event,
  // preceded by the one before it.
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
  uint64_t first_ = 1;  // number of waiting_.front()
  std::deque<DeviceEvent> waiting_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_DEVICE_EVENTS_H_
