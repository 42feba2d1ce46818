// Commands to devices, a worker's part: who carries each, and which wait for an answer.
#ifndef SEGANET_CORE_DEVICES_COMMAND_TABLE_H_
#define SEGANET_CORE_DEVICES_COMMAND_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/devices/agent_session.h"
#include "core/devices/pending_commands.h"

namespace seganet {

// One through whom commands reach devices of a worker: its agents, or a server of datagrams.
class CommandCarrier {
 public:
  // kOffline when the device is none of its own. kSent: CommandTable::Answer or Gone follows, also
  // before this returns.
  virtual CommandStart SendCommand(uint64_t id, const Command& command) = 0;

 protected:
  ~CommandCarrier() = default;
};

// Thread safety: owned by one worker.
class CommandTable {
 public:
  // `desk` gets the results, and outlives this. Ids begin at `first_id`: a session that changes its
  // worker may still hold some, which must mean nothing there.
  explicit CommandTable(CommandDesk* desk, uint64_t first_id = 1)
      : desk_(desk), next_id_(first_id) {}

  // They are asked in this order until one takes the command. REQUIRES: they outlive the table, or
  // Remove is called.
  void Add(CommandCarrier* carrier) { carriers_.push_back(carrier); }
  void Remove(CommandCarrier* carrier) { std::erase(carriers_, carrier); }

  // REQUIRES: the desk opened it.
  void Start(const Command& command);

  // The device's answer. No effect when command `id` is over.
  void Answer(uint64_t id, bool taken) {
    End(id, taken ? CommandEnd::kTaken : CommandEnd::kRefused);
  }

  // Nobody will answer it.
  void Lost(uint64_t id) { End(id, CommandEnd::kGone); }

  // Nobody will answer those of the device that are on their way.
  void Gone(std::string_view device);

  // To be called some times a second.
  void Expire(int64_t now_us);

  // The end: nobody will answer any.
  void AllGone();

  size_t waiting() const { return waiting_.size(); }
  // Calls see(device) for each device that has some on their way.
  template <typename See>
  void ForEachDevice(See&& see) const {
    for (const auto& [device, ids] : by_device_) see(std::string_view(device));
  }

 private:
  struct Waiting {
    uint32_t ticket;
    size_t bytes;
    std::string device;
    std::multimap<int64_t, uint64_t>::iterator deadline;
  };
  CommandStart Carry(uint64_t id, const Command& command);
  void End(uint64_t id, CommandEnd end);

  CommandDesk* const desk_;
  std::vector<CommandCarrier*> carriers_;
  uint64_t next_id_;
  std::unordered_map<uint64_t, Waiting> waiting_;                        // by id
  std::multimap<int64_t, uint64_t> deadlines_;                           // ids by time
  std::map<std::string, std::vector<uint64_t>, std::less<>> by_device_;  // its ids, few
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_COMMAND_TABLE_H_
