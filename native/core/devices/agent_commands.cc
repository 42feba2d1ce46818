#include "core/devices/agent_commands.h"

#include <string>

#include "core/devices/agent.h"
#include "core/devices/coap_convert.h"

namespace seganet {

CommandStart AgentCommands::SendCommand(uint64_t id, const Command& command) {
  const Device* const device = devices_->Find(command.device);
  if (device == nullptr || device->agent == nullptr) return CommandStart::kOffline;
  Agent* const agent = device->agent;
  const std::string topic =
      CommandTopicFor(NameAt(agent->source(), command.device), command.topic, command.device);
  const CommandStart start = agent->session().Command(id, topic, command.payload, command.qos);
  // May close the connection, which ends the command.
  agent->Flush();
  return start;
}

}  // namespace seganet
