// Requests of the gateway to the devices of one worker. Requests that observe the same resource
// share one observation at the device.
#ifndef SEGANET_CORE_DEVICES_DESK_DEVICE_ASKS_H_
#define SEGANET_CORE_DEVICES_DESK_DEVICE_ASKS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/protocol/coap/exchange.h"

namespace seganet {

// A connection on which a device can be asked. Neither function sends: the owner of the connection
// does that when the call of DeviceAsks has returned.
class AskLink {
 public:
  virtual coap::AskStart Ask(uint64_t id, const coap::RequestSpec& request) = 0;
  virtual void Cancel(uint64_t id) = 0;

 protected:
  ~AskLink() = default;
};

struct DeviceAsk {
  uint64_t handle = 0;
  std::string device;
  coap::RequestSpec request;
  int64_t deadline_us = 0;  // for the first answer, CLOCK_MONOTONIC
};

// Every request gets one answer, and one that observes gets one for each notification. Failures are
// answers too: 5.03 = the device has no connection, its connection ended, or too many of its
// requests are open (with Max-Age 1); 5.04 = it did not answer in time.
//
// An observation outlives the connection of its device: it is set up again when the device
// connects. It ends with the last request, or when the device refuses it.
//
// Thread safety: owned by one worker.
class DeviceAsks {
 public:
  using Answer = std::function<void(uint64_t handle, const coap::AskAnswer& answer, bool last)>;

  explicit DeviceAsks(Answer answer) : answer_(std::move(answer)) {}

  // Starts a request. `link` is null if the device has no connection.
  // REQUIRES: `handle` is not in use.
  void Start(DeviceAsk ask, AskLink* link);
  // Ends a request without an answer. No effect for an unknown handle.
  void Cancel(uint64_t handle);

  // The answer of a link.
  void Answered(uint64_t id, const coap::AskAnswer& answer);

  // The device has a connection, or no longer has one. Connected() sets its observations up again.
  // REQUIRES (Connected): Gone() was called for its previous connection.
  void Connected(const std::string& device, AskLink* link);
  void Gone(std::string_view device);

  // Ends the requests whose time is over. To be called several times a second.
  void Expire(int64_t now_us);
  // Ends all requests, because the worker stops.
  void EndAll();

  size_t size() const { return by_handle_.size(); }
  // Calls see(device) for each device with a request.
  template <typename See>
  void ForEachDevice(See&& see) const {
    for (const auto& [id, sent] : sent_) see(std::string_view(sent.device));
  }

 private:
  struct Waiting {
    uint64_t id = 0;  // of what was sent
    std::multimap<int64_t, uint64_t>::iterator deadline;
    bool has_deadline = false;
  };
  // What a link was asked: one request, or the observation that several share.
  struct Sent {
    std::string device;
    std::string key;  // of an observation; '' = a request
    coap::RequestSpec request;
    AskLink* link = nullptr;  // null = an observation of a device without a connection
    std::vector<uint64_t> handles;
    std::optional<coap::AskAnswer> latest;  // of an observation
  };

  void Fail(uint64_t handle, uint8_t code, std::string_view why, bool busy = false);
  void FailAll(uint64_t id, uint8_t code, std::string_view why, bool busy = false);
  // Removes a handle from what was sent; ends that if it was the last.
  void Leave(uint64_t handle);
  void Erase(uint64_t id);
  void ClearDeadline(Waiting* waiting);

  const Answer answer_;
  uint64_t last_id_ = 0;
  std::unordered_map<uint64_t, Waiting> by_handle_;
  std::unordered_map<uint64_t, Sent> sent_;  // by id
  std::multimap<int64_t, uint64_t> deadlines_;
  std::map<std::string, uint64_t, std::less<>> observations_;            // ids by key
  std::map<std::string, std::vector<uint64_t>, std::less<>> by_device_;  // ids
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_DESK_DEVICE_ASKS_H_
