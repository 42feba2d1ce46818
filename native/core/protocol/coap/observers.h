// The observers of command resources (RFC 7641).
#ifndef SEGANET_CORE_PROTOCOL_COAP_OBSERVERS_H_
#define SEGANET_CORE_PROTOCOL_COAP_OBSERVERS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/protocol/coap/block.h"
#include "core/protocol/coap/peer.h"
#include "core/protocol/coap/settings.h"

namespace seganet::coap {

// A registration (RFC 7641 4.1), identified by a peer and its token.
struct Observer {
  Peer peer;
  std::string token;
  std::string topic;  // of the commands that it wants; '' = all commands of the device
  uint8_t exponent = Block::kLargestExponent;  // SZX of the blocks that it requested
  bool proved = true;                          // the peer proved its address (FarEnd::proved)
  uint64_t number = 0;                         // order of registration; set by Observers

  bool Wants(std::string_view command_topic) const {
    return topic.empty() || topic == command_topic;
  }
};

// The observers of all devices of one server.
//
// Thread safety: none; owned by one server.
class Observers {
 public:
  explicit Observers(const Limits& limits)
      : max_(limits.max_observers), max_per_device_(limits.max_observers_per_device) {}

  // An unproved observer that was removed to make room.
  struct Displaced {
    std::string device;
    Peer peer;
    std::string token;
  };

  // Adds an observer, or renews the one with the same peer and token. False when there is no room.
  // Appends the unproved observers that this call removed, possibly of other devices, to
  // `displaced`.
  //
  // To make room, the device's oldest observer is removed, or the oldest unproved observer of all
  // devices. A proved observer is removed only for another proved observer of the same device.
  // Requests with forged addresses therefore cannot displace a proved observer.
  bool Add(std::string_view device, Observer observer, std::vector<Displaced>* displaced);

  // Marks the observer as proved. No effect for an unknown one.
  void Prove(std::string_view device, const Peer& peer, std::string_view token);

  // False when there is no such observer.
  bool Remove(std::string_view device, const Peer& peer, std::string_view token);

  // Removes the peer's observers of the device; of all devices if `device` is empty, which walks
  // all observers. Returns the devices that had some.
  std::vector<std::string> RemovePeer(const Peer& peer, std::string_view device);

  // Returns the observers of the device, oldest first; empty if it has none.
  const std::vector<Observer>& Of(std::string_view device) const;

  size_t size() const { return count_; }
  size_t memory_bytes() const { return bytes_; }

 private:
  using Devices = std::map<std::string, std::vector<Observer>, std::less<>>;

  // Removes the peer's observers of a device. Returns their number.
  size_t ErasePeer(Devices::iterator device, const Peer& peer);
  void Erase(Devices::iterator device, size_t at);
  // Appends an unproved observer to `displaced`.
  void DropOldest(Devices::iterator device, bool proved, std::vector<Displaced>* displaced);
  static size_t BytesOf(const Observer& observer) {
    return sizeof(Observer) + observer.topic.size();
  }
  // A map node with the name and vector of a device.
  static size_t BytesOf(std::string_view device) { return 128 + device.size(); }

  const size_t max_;
  const size_t max_per_device_;
  Devices by_device_;                         // no empty vector; oldest first
  std::map<uint64_t, std::string> unproved_;  // device by number of the observer
  uint64_t last_number_ = 0;
  size_t count_ = 0;
  size_t bytes_ = 0;
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_OBSERVERS_H_
