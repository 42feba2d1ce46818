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

  bool Wants(std::string_view command_topic) const {
    return topic.empty() || topic == command_topic;
  }
};

// The observers of all devices of one server.
class Observers {
 public:
  explicit Observers(const Limits& limits)
      : max_(limits.max_observers), max_per_device_(limits.max_observers_per_device) {}

  // The same far end and token renews; a device's oldest gives way. False: there are too many.
  bool Add(std::string_view device, Observer observer);

  // False when there was none.
  bool Remove(std::string_view device, const Peer& peer, std::string_view token);

  // Empty without.
  const std::vector<Observer>& Of(std::string_view device) const;

  size_t size() const { return count_; }
  size_t memory_bytes() const { return bytes_; }

 private:
  static size_t BytesOf(const Observer& observer) {
    return sizeof(Observer) + observer.topic.size();
  }
  // Node of the map, name and vector of a device.
  static size_t BytesOf(std::string_view device) { return 128 + device.size(); }

  const size_t max_;
  const size_t max_per_device_;
  std::map<std::string, std::vector<Observer>, std::less<>> by_device_;  // none is empty
  size_t count_ = 0;
  size_t bytes_ = 0;
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_OBSERVERS_H_
