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

// Who asked to be notified (RFC 7641 4.1): a far end and its token.
struct Observer {
  Peer peer;
  std::string token;
  std::string topic;  // of the commands that it wants; '' = all of the device
  uint8_t exponent = Block::kLargestExponent;  // of the blocks that it asked for
  bool proved = true;                          // the far end is where it says (FarEnd::proved)
  uint64_t number = 0;                         // in the order of registration; set by Observers

  bool Wants(std::string_view command_topic) const {
    return topic.empty() || topic == command_topic;
  }
};

// The observers of all devices of one server.
class Observers {
 public:
  explicit Observers(const Limits& limits)
      : max_(limits.max_observers), max_per_device_(limits.max_observers_per_device) {}

  // The same far end and token renews. Where there is no room, the device's oldest gives way to it,
  // or the oldest of all that has not proved itself; one that has proved itself gives way only to
  // another such one of its device. So whoever sends under addresses of others cannot take the
  // place of an observer that is there. False: there are too many.
  // `*gone` is set to the device that lost its only observer by this, if there is one.
  bool Add(std::string_view device, Observer observer, std::string* gone);

  // It has proved itself.
  void Prove(std::string_view device, const Peer& peer, std::string_view token);

  // False when there was none.
  bool Remove(std::string_view device, const Peer& peer, std::string_view token);

  // Empty without.
  const std::vector<Observer>& Of(std::string_view device) const;

  size_t size() const { return count_; }
  size_t memory_bytes() const { return bytes_; }

 private:
  using Devices = std::map<std::string, std::vector<Observer>, std::less<>>;

  void Erase(Devices::iterator device, size_t at);
  void DropOldest(Devices::iterator device, bool proved);
  static size_t BytesOf(const Observer& observer) {
    return sizeof(Observer) + observer.topic.size();
  }
  // Node of the map, name and vector of a device.
  static size_t BytesOf(std::string_view device) { return 128 + device.size(); }

  const size_t max_;
  const size_t max_per_device_;
  Devices by_device_;                         // none is empty; the oldest in front
  std::map<uint64_t, std::string> unproved_;  // devices by number of the observer
  uint64_t last_number_ = 0;
  size_t count_ = 0;
  size_t bytes_ = 0;
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_OBSERVERS_H_
