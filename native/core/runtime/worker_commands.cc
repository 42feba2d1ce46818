// Worker: commands to its devices, and its part of the agent registry.

#include <utility>

#include "core/devices/coap_convert.h"
#include "core/runtime/worker.h"

namespace seganet {

void Worker::StartCommand(Command command) {
  const uint32_t ticket = command.ticket;
  const size_t bytes = command.bytes();
  if (!Post([this, command = std::move(command)] {
        // The device moved to another worker while the command was in the queue.
        if (shared_.exchange->placement().WorkerOf(command.device) != options_.index) {
          shared_.exchange->Forward(command);
        } else {
          commands_.Start(command);
        }
      })) {
    shared_.commands->End(ticket, CommandEnd::kGone, bytes);
  }
}

CommandStart Worker::SendCommand(uint64_t id, const Command& command) {
  const Device* device = devices_.Find(command.device);
  if (device == nullptr || device->agent == nullptr) return CommandStart::kOffline;
  Agent* const agent = device->agent;
  const std::string topic =
      CommandTopicFor(NameAt(agent->source(), command.device), command.topic, command.device);
  const CommandStart start = agent->session().Command(id, topic, command.payload, command.qos);
  // May close the connection, which ends the command.
  agent->Flush();
  return start;
}

void Worker::Withdraw(std::string_view device, uint64_t id) { kept_.Withdraw(device, id); }

void Worker::OnCommandAnswer(Agent*, uint64_t id, bool taken) { commands_.Answer(id, taken); }

std::vector<AgentInfo> Worker::Agents(const std::string& after, size_t limit) {
  std::vector<AgentInfo> agents;
  Call([&] {
    agents =
        ListAgents(devices_, after, limit, static_cast<uint32_t>(options_.index), MonotonicUs());
  });
  return agents;
}

}  // namespace seganet
