#include "core/protocol/coap/commands.h"

#include <iterator>

#include "core/base/require.h"

namespace seganet::coap {

Command* Commands::Start(Command command) {
  SEGANET_REQUIRE(Find(command.device) == nullptr || Find(command.device)->answered);
  Remove(command.device);
  const size_t bytes = BytesOf(command);
  for (auto oldest = commands_.begin(); oldest != commands_.end() && bytes_ + bytes > max_bytes_;) {
    const auto next = std::next(oldest);
    if (oldest->answered) Erase(oldest);
    oldest = next;
  }
  if (bytes_ + bytes > max_bytes_) return nullptr;
  bytes_ += bytes;
  commands_.push_back(std::move(command));
  by_device_.emplace(commands_.back().device, std::prev(commands_.end()));
  return &commands_.back();
}

Command* Commands::Find(std::string_view device) {
  const auto found = by_device_.find(device);
  return found == by_device_.end() ? nullptr : &*found->second;
}

void Commands::Remove(std::string_view device) {
  const auto found = by_device_.find(device);
  if (found != by_device_.end()) Erase(found->second);
}

void Commands::Erase(List::iterator command) {
  SetFetch(&*command, Command::kNot);
  bytes_ -= BytesOf(*command);
  by_device_.erase(command->device);
  commands_.erase(command);
}

void Commands::SetFetch(Command* command, int64_t fetch_us) {
  if (command->fetch_us != Command::kNot) fetches_.erase({command->fetch_us, command->device});
  command->fetch_us = fetch_us;
  if (fetch_us != Command::kNot) fetches_.emplace(fetch_us, command->device);
}

std::vector<std::string> Commands::Overdue(int64_t now_us) const {
  std::vector<std::string> devices;
  for (const auto& [at_us, device] : fetches_) {
    if (at_us > now_us) break;
    devices.push_back(device);
  }
  return devices;
}

}  // namespace seganet::coap
