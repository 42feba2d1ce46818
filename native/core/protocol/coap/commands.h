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

// The latest command of a device: what its command resource represents.
struct Command {
  std::string device;
  uint64_t id = 0;
  std::string topic;
  std::string payload;
  uint32_t etag = 0;
  size_t waiting = 0;       // notifications that were neither acknowledged nor lost
  bool answered = false;    // its end was told
  int64_t fetch_us = kNot;  // until when its next block has to be asked for

  static constexpr int64_t kNot = std::numeric_limits<int64_t>::max();
};

// The latest command of each device, in memory that is bounded: the oldest that was answered gives
// way.
class Commands {
 public:
  explicit Commands(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Takes the place of the device's command before. Null: there is no room.
  // REQUIRES: that one was answered.
  Command* Start(Command command);

  Command* Find(std::string_view device);
  void Remove(std::string_view device);

  void SetFetch(Command* command, int64_t fetch_us);
  // The devices whose next block was not asked for in time.
  std::vector<std::string> Overdue(int64_t now_us) const;
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
  List commands_;  // the oldest in front
  std::map<std::string, List::iterator, std::less<>> by_device_;
  std::set<std::pair<int64_t, std::string>> fetches_;
  size_t bytes_ = 0;
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_COMMANDS_H_
