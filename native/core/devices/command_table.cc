#include "core/devices/command_table.h"

#include <utility>

namespace seganet {
namespace {

CommandEnd EndAfter(CommandStart start) {
  switch (start) {
    case CommandStart::kSent:
    case CommandStart::kDone:
      return CommandEnd::kTaken;
    case CommandStart::kOffline:
      return CommandEnd::kOffline;
    case CommandStart::kNotListening:
      return CommandEnd::kNotListening;
    case CommandStart::kBusy:
      return CommandEnd::kBusy;
    case CommandStart::kTooLarge:
      return CommandEnd::kTooLarge;
  }
  return CommandEnd::kOffline;
}

}  // namespace

void CommandTable::Start(const Command& command) {
  const uint64_t id = next_id_++;
  // Entered before it is sent: the answer may come, or the connection may end, during the call.
  waiting_.emplace(id, Waiting{command.ticket, command.bytes(), command.connection(),
                               deadlines_.emplace(command.deadline_us, id)});
  by_device_[command.connection()].push_back(id);
  const CommandStart start = Carry(id, command);
  if (start != CommandStart::kSent) End(id, EndAfter(start));
}

// Several carriers may know a device, for example over TCP and over UDP. A carrier where the device
// listens is better than one where it does not, which is better than none.
CommandStart CommandTable::Carry(uint64_t id, const Command& command) {
  CommandStart best = CommandStart::kOffline;
  for (CommandCarrier* carrier : carriers_) {
    const CommandStart start = carrier->SendCommand(id, command);
    if (start == CommandStart::kOffline) continue;
    best = start;
    if (start != CommandStart::kNotListening) break;
  }
  return best;
}

void CommandTable::End(uint64_t id, CommandEnd end) {
  const auto it = waiting_.find(id);
  if (it == waiting_.end()) return;
  const Waiting waiting = std::move(it->second);
  waiting_.erase(it);
  deadlines_.erase(waiting.deadline);
  const auto of_device = by_device_.find(waiting.device);
  std::erase(of_device->second, id);
  if (of_device->second.empty()) by_device_.erase(of_device);
  pending_->End(waiting.ticket, end, waiting.bytes);
}

void CommandTable::Gone(std::string_view device) {
  const auto it = by_device_.find(device);
  if (it == by_device_.end()) return;
  const std::string name(device);
  const std::vector<uint64_t> ids = it->second;
  for (uint64_t id : ids) {
    Withdraw(name, id);
    End(id, CommandEnd::kGone);
  }
}

// Before the end is reported: a command that is reported as over must not reach the device from its
// kept session.
void CommandTable::Withdraw(const std::string& device, uint64_t id) {
  for (CommandCarrier* carrier : carriers_) carrier->Withdraw(device, id);
}

void CommandTable::Expire(int64_t now_us) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now_us) {
    const uint64_t id = deadlines_.begin()->second;
    Withdraw(waiting_.at(id).device, id);
    End(id, CommandEnd::kTimeout);
  }
}

void CommandTable::AllGone() {
  while (!waiting_.empty()) End(waiting_.begin()->first, CommandEnd::kGone);
}

}  // namespace seganet
