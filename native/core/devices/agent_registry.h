// The agent registry: lists what the workers know about their devices, for display.
#ifndef SEGANET_CORE_DEVICES_AGENT_REGISTRY_H_
#define SEGANET_CORE_DEVICES_AGENT_REGISTRY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/devices/device_table.h"

namespace seganet {

// What a worker knows about a device.
struct AgentInfo {
  std::string device;
  uint32_t stage = 0;  // its source
  uint32_t worker = 0;
  bool connected = false;
  size_t reads = 0;          // filters by which it reads records; 0 = no local subscriber
  uint64_t drops = 0;        // records that it did not read in time, on this connection
  bool listening = false;    // has a subscription or observes its commands
  uint8_t record_class = 0;  // of its latest record; 0 = none yet
  uint64_t records = 0;
  uint64_t bytes = 0;     // of payloads
  double rate_per_s = 0;  // records per second over the last seconds
  int64_t silent_us = 0;  // since the device was last heard from
  std::string address;    // for display
  std::string bridge;     // that the device is behind, empty = none
};

// Returns the first `limit` devices of the table, also those behind bridges, whose id is greater
// than `after`, in the order of ids. Walks the whole table; needs memory for `limit` entries.
std::vector<AgentInfo> ListAgents(const DeviceTable& devices, std::string_view after, size_t limit,
                                  uint32_t worker, int64_t now_us);

// Returns the first `limit` entries of all lists, in the order of ids.
std::vector<AgentInfo> MergeAgents(std::vector<std::vector<AgentInfo>> lists, size_t limit);

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_AGENT_REGISTRY_H_
