// Commands to devices, the engine's part: how many are on their way, and what became of them.
#ifndef SEGANET_CORE_DEVICES_PENDING_COMMANDS_H_
#define SEGANET_CORE_DEVICES_PENDING_COMMANDS_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/doorbell.h"

namespace seganet {

// Values and meanings: native/index.d.ts, CommandEnd.
enum class CommandEnd : uint8_t {
  kTaken = 0,
  kOffline = 1,
  kNotListening = 2,
  kTimeout = 3,
  kGone = 4,
  kRefused = 5,
  kTooLarge = 6,
  kBusy = 7,
};

// A message from the cloud to one device.
struct Command {
  uint32_t ticket = 0;
  std::string device;
  std::string topic;  // as the device gets it
  std::string payload;
  uint8_t qos = 0;
  int64_t deadline_us = 0;  // CLOCK_MONOTONIC

  size_t bytes() const { return device.size() + topic.size() + payload.size(); }
};

struct CommandResult {
  uint32_t ticket;
  CommandEnd end;
};

// A command has its place from Open until its result is taken, so neither those on their way nor
// their results can become too many.
//
// Thread safety: any thread; SetMostBytes before the others.
class CommandDesk {
 public:
  static constexpr size_t kMost = 65'536;

  // `bell` rings when results wait; it outlives this.
  explicit CommandDesk(Doorbell* bell) : bell_(bell) {}

  // Of all commands on their way, at most. One alone may be larger.
  void SetMostBytes(size_t bytes) { most_bytes_ = bytes; }

  // Takes a place; false when there is none.
  bool Open(const Command& command);

  // To be called once for each that was opened. `bytes` is what Command::bytes() was.
  void End(uint32_t ticket, CommandEnd end, size_t bytes);

  std::vector<CommandResult> Take();

 private:
  Doorbell* const bell_;
  size_t most_bytes_ = SIZE_MAX;
  std::mutex mutex_;
  size_t open_ = 0;  // on their way, or with a result that waits
  size_t bytes_ = 0;
  std::vector<CommandResult> results_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_PENDING_COMMANDS_H_
