#include "core/devices/agent_commands.h"

#include <string>

#include "core/devices/agent.h"
#include "core/devices/coap_convert.h"

namespace seganet {

namespace {

// Returns the topic at which the connection of `source` gets the command; `row` is that of its
// device.
std::string TopicOf(const Command& command, const SourceSettings& source, const Device& row) {
  if (command.own_topic) return command.topic;
  if (row.place != nullptr && !row.place->prefix.empty()) {
    const std::string own = "cmd/" + command.device + "/";
    if (command.topic.starts_with(own)) {
      return row.place->prefix + "/" + command.topic.substr(own.size());
    }
  }
  return CommandTopicFor(NameAt(source, command.device), command.topic, command.device);
}

}  // namespace

CommandStart AgentCommands::SendCommand(uint64_t id, const Command& command) {
  const Device* const connected = devices_->Find(command.connection());
  if (connected == nullptr || connected->agent == nullptr) return CommandStart::kOffline;
  const Device* const device =
      command.bridge.empty() ? connected : DeviceTable::FindBehind(connected, command.device);
  if (device == nullptr) return CommandStart::kOffline;
  Agent* const agent = connected->agent;
  const std::string topic = TopicOf(command, agent->source(), *device);
  const CommandStart start = agent->session().Command(id, topic, command.payload, command.qos);
  // May close the connection, which ends the command.
  agent->Flush();
  return start;
}

}  // namespace seganet
