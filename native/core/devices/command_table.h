// The commands of one worker's devices: which carrier sends each, and which await an answer.
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

// A path on which commands reach devices of a worker: its agents, or a datagram server.
class CommandCarrier {
 public:
  // Sends a command. Returns kOffline if the carrier does not have the device. After kSent,
  // CommandTable::Answer or Gone follows, possibly before this returns.
  virtual CommandStart SendCommand(uint64_t id, const Command& command) = 0;

  // The command is over. If its device is away, and would get the command when it returns,
  // the carrier drops it.
  virtual void Withdraw(std::string_view device, uint64_t id) {
    (void)device;
    (void)id;
  }

 protected:
  ~CommandCarrier() = default;
};

// Thread safety: owned by one worker.
class CommandTable {
 public:
  // `pending` receives the results and outlives this. Ids begin at `first_id`: a session that moved
  // from another worker may still use ids of that worker, which must be unknown here.
  explicit CommandTable(PendingCommands* pending, uint64_t first_id = 1)
      : pending_(pending), next_id_(first_id) {}

  // A command goes to the carriers in the order of Add until one takes it. REQUIRES: the carrier
  // outlives the table, or Remove is called.
  void Add(CommandCarrier* carrier) { carriers_.push_back(carrier); }
  void Remove(CommandCarrier* carrier) { std::erase(carriers_, carrier); }

  // Sends a command. REQUIRES: PendingCommands::Open accepted it.
  void Start(const Command& command);

  // The device answered. No effect if command `id` is over.
  void Answer(uint64_t id, bool taken) {
    End(id, taken ? CommandEnd::kTaken : CommandEnd::kRefused);
  }

  // No answer will come: the command is lost.
  void Lost(uint64_t id) { End(id, CommandEnd::kGone); }

  // No answer will come to the commands in flight on the device's connection, also those to devices
  // behind it: withdraws and ends them.
  void Gone(std::string_view device);

  // Withdraws and ends the commands whose time is over. To be called several times a second.
  void Expire(int64_t now_us);

  // Ends all commands, because the worker stops.
  void AllGone();

  size_t waiting() const { return waiting_.size(); }
  // False if command `id` is over.
  bool Has(uint64_t id) const { return waiting_.contains(id); }
  // Calls see(device) for each device with commands in flight on its connection.
  template <typename See>
  void ForEachDevice(See&& see) const {
    for (const auto& [device, ids] : by_device_) see(std::string_view(device));
  }

 private:
  struct Waiting {
    uint32_t ticket;
    size_t bytes;
    std::string device;  // Command::connection
    std::multimap<int64_t, uint64_t>::iterator deadline;
  };
  CommandStart Carry(uint64_t id, const Command& command);
  void End(uint64_t id, CommandEnd end);
  void Withdraw(const std::string& device, uint64_t id);

  PendingCommands* const pending_;
  std::vector<CommandCarrier*> carriers_;
  uint64_t next_id_;
  std::unordered_map<uint64_t, Waiting> waiting_;                        // by id
  std::multimap<int64_t, uint64_t> deadlines_;                           // ids by time
  std::map<std::string, std::vector<uint64_t>, std::less<>> by_device_;  // a few ids each
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_COMMAND_TABLE_H_
