// The commands of an engine: how many are in flight, and the results that wait for JavaScript.
#ifndef SEGANET_CORE_DEVICES_PENDING_COMMANDS_H_
#define SEGANET_CORE_DEVICES_PENDING_COMMANDS_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/doorbell.h"

namespace seganet {

// The outcome of a command. JavaScript uses the same values (CommandEnd in native/index.d.ts).
enum class CommandEnd : uint8_t {
  kTaken = 0,         // the device acknowledged it; QoS 0: it was sent
  kOffline = 1,       // the device has no connection
  kNotListening = 2,  // connected, but no subscription or observation matches
  kTimeout = 3,       // no acknowledgement in time; it may still reach the device
  kGone = 4,          // the connection and its session ended first; the outcome is unknown
  kRefused = 5,       // the device refused it
  kTooLarge = 6,      // exceeds the packet size of the device
  kBusy = 7,          // too many commands of the device are in flight
};

// A message from the cloud to one device.
struct Command {
  uint32_t ticket = 0;
  std::string device;
  std::string topic;  // as an MQTT device gets it; for CoAP, see CoapCommandTopic
  std::string payload;
  uint8_t qos = 0;
  int64_t deadline_us = 0;  // CLOCK_MONOTONIC
  bool own_topic = false;   // `topic` is the device's own, whatever its form
  std::string bridge{};     // that the device is behind, empty = none

  // Returns the id of the device whose connection carries the command.
  const std::string& connection() const { return bridge.empty() ? device : bridge; }
  size_t bytes() const { return device.size() + topic.size() + payload.size(); }
};

struct CommandResult {
  uint32_t ticket;
  CommandEnd end;
};

// A command takes one of kMost places from Open until its result is taken. This bounds both the
// commands in flight and the results.
//
// Thread safety: any thread; SetMostBytes before all other calls.
class PendingCommands {
 public:
  static constexpr size_t kMost = 65'536;

  // `bell` rings when results wait; it outlives this.
  explicit PendingCommands(Doorbell* bell) : bell_(bell) {}

  // Limits the bytes of all commands in flight. A single command may exceed the limit.
  void SetMostBytes(size_t bytes) { most_bytes_ = bytes; }

  // Takes a place for a command. Returns false if there is none.
  bool Open(const Command& command);

  // Ends an opened command; to be called exactly once for each. `bytes` is its Command::bytes().
  void End(uint32_t ticket, CommandEnd end, size_t bytes);

  // Takes out all results.
  std::vector<CommandResult> Take();

 private:
  Doorbell* const bell_;
  size_t most_bytes_ = SIZE_MAX;
  std::mutex mutex_;
  size_t open_ = 0;  // in flight, or with a result that waits
  size_t bytes_ = 0;
  std::vector<CommandResult> results_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_PENDING_COMMANDS_H_
