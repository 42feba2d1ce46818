// The latest command of each device, for the command resources of CoAP over UDP.
#ifndef SEGANET_CORE_PROTOCOL_COAP_COMMANDS_H_
#define SEGANET_CORE_PROTOCOL_COAP_COMMANDS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace seganet::coap {

// The latest command of a device: the representation of the device's command resource.
struct Command {
  std::string device;
  uint64_t id = 0;
  std::string topic;
  std::string payload;
  uint32_t etag = 0;
  size_t waiting = 0;       // notifications that are neither acknowledged nor lost
  bool answered = false;    // its result was reported
  int64_t fetch_us = kNot;  // deadline for the request of its next block

  static constexpr int64_t kNot = std::numeric_limits<int64_t>::max();
};

// Holds the latest command of each device in bounded memory. To make room, the oldest answered
// commands are removed.
//
// Thread safety: none; owned by one server.
class Commands {
 public:
  explicit Commands(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Replaces the device's previous command. Returns null when there is no room; the previous
  // command is removed in either case.
  // REQUIRES: the device has no previous command, or it is answered.
  Command* Start(Command command);

  // Returns null if the device has no command.
  Command* Find(std::string_view device);
  void Remove(std::string_view device);

  // Sets when the device must have requested the next block, us; Command::kNot = no deadline.
  void SetFetch(Command* command, int64_t fetch_us);
  // Returns the devices that did not request the next block in time.
  std::vector<std::string> Overdue(int64_t now_us) const;
  // The earliest deadline of SetFetch(); Command::kNot = none.
  int64_t deadline_us() const { return fetches_.empty() ? Command::kNot : fetches_.begin()->first; }

  size_t memory_bytes() const { return bytes_; }

 private:
  using List = std::list<Command>;
  static size_t BytesOf(const Command& command) {
    return sizeof(Command) + 128 + 2 * command.device.size() + command.topic.size() +
           command.payload.size();
  }
  void Erase(List::iterator command);

  const size_t max_bytes_;
  List commands_;  // oldest first
  std::map<std::string, List::iterator, std::less<>> by_device_;
  std::set<std::pair<int64_t, std::string>> fetches_;
  size_t bytes_ = 0;
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_COMMANDS_H_
