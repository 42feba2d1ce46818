#include "core/devices/pending_commands.h"

namespace seganet {

bool CommandDesk::Open(const Command& command) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (open_ >= kMost) return false;
  if (bytes_ > 0 && bytes_ + command.bytes() > most_bytes_) return false;
  ++open_;
  bytes_ += command.bytes();
  return true;
}

void CommandDesk::End(uint32_t ticket, CommandEnd end, size_t bytes) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    bytes_ -= bytes;
    results_.push_back({ticket, end});
  }
  bell_->Ring();
}

std::vector<CommandResult> CommandDesk::Take() {
  bell_->Answer();
  std::vector<CommandResult> taken;
  const std::lock_guard<std::mutex> lock(mutex_);
  taken.swap(results_);
  open_ -= taken.size();
  return taken;
}

}  // namespace seganet
