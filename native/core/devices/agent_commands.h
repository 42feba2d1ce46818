// Commands to the devices of one worker that have a connection, or are behind a bridge that has
// one.
#ifndef SEGANET_CORE_DEVICES_AGENT_COMMANDS_H_
#define SEGANET_CORE_DEVICES_AGENT_COMMANDS_H_

#include <cstdint>
#include <string_view>

#include "core/devices/agent_session.h"
#include "core/devices/command_table.h"
#include "core/devices/device_table.h"
#include "core/devices/kept_sessions.h"

namespace seganet {

// Thread safety: owned by one worker.
class AgentCommands final : public CommandCarrier {
 public:
  // Both outlive this object.
  AgentCommands(const DeviceTable* devices, KeptSessions* kept) : devices_(devices), kept_(kept) {}

  // CommandCarrier
  CommandStart SendCommand(uint64_t id, const Command& command) override;
  void Withdraw(std::string_view device, uint64_t id) override { kept_->Withdraw(device, id); }

 private:
  const DeviceTable* const devices_;
  KeptSessions* const kept_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_AGENT_COMMANDS_H_
