// The register of agents: what the workers know of their devices, for people.
#ifndef SEGANET_CORE_DEVICES_AGENT_REGISTRY_H_
#define SEGANET_CORE_DEVICES_AGENT_REGISTRY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/devices/device_table.h"

namespace seganet {

// Meanings: native/index.d.ts.
struct AgentInfo {
  std::string device;
  uint32_t stage = 0;
  uint32_t worker = 0;
  bool connected = false;
  bool listening = false;
  uint8_t record_class = 0;
  uint64_t records = 0;
  uint64_t bytes = 0;
  double rate_per_s = 0;
  int64_t silent_us = 0;
  std::string address;
};

// The first `limit` devices of the table by id, those behind `after`. Costs a walk through the
// table and memory for `limit`.
std::vector<AgentInfo> ListAgents(const DeviceTable& devices, std::string_view after, size_t limit,
                                  uint32_t worker, int64_t now_us);

// The first `limit` of all.
std::vector<AgentInfo> MergeAgents(std::vector<std::vector<AgentInfo>> lists, size_t limit);

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_AGENT_REGISTRY_H_
