// Engine: commands, and the registry of agents.

#include <utility>

#include "core/runtime/engine.h"

namespace seganet {

PushResult Engine::Command(seganet::Command command, int64_t timeout_us) {
  if (closed_) return PushResult::kClosed;
  if (command.device.empty() || command.device.size() > kMaxDeviceBytes || command.topic.empty() ||
      command.topic.size() > kMaxTopicBytes || command.payload.size() > options_.max_packet_bytes) {
    return PushResult::kTooLong;
  }
  if (!commands_.Open(command)) return PushResult::kFull;
  command.deadline_us = MonotonicUs() + timeout_us;
  Worker& owner = *workers_[WorkerOf(command.device)];
  owner.StartCommand(std::move(command));
  return PushResult::kOk;
}

std::vector<AgentInfo> Engine::Agents(const std::string& after, size_t limit) {
  const SlotExchange::Hold hold(&exchange_);
  std::vector<std::vector<AgentInfo>> lists;
  for (const auto& worker : workers_) lists.push_back(worker->Agents(after, limit));
  return MergeAgents(std::move(lists), limit);
}

}  // namespace seganet
