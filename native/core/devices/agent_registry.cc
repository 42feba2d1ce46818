#include "core/devices/agent_registry.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/devices/agent.h"
#include "core/devices/subscribers/subscriber.h"

namespace seganet {
namespace {

AgentInfo Describe(const Device& device, uint32_t worker, int64_t now_us) {
  AgentInfo info;
  info.device = device.id;
  info.stage = device.stage;
  info.worker = worker;
  info.connected = device.counted || device.agent != nullptr;
  if (device.agent != nullptr) {
    AgentSession& session = device.agent->session();
    info.reads = session.reads();
    if (const Subscriber* const it = session.subscriber()) info.drops = it->drops();
  }
  info.listening = device.agent != nullptr ? device.agent->listening() : device.observing;
  if (const Device* const bridge = device.bridge(); bridge != nullptr) {
    info.bridge = bridge->id;
    info.listening = device.counted && bridge->agent != nullptr && bridge->agent->listening();
  }
  info.record_class = device.latest_class;
  info.records = device.records;
  info.bytes = device.bytes;
  info.rate_per_s = device.meter.PerSecond(now_us);
  int64_t seen_us = device.last_seen_us;
  if (device.agent != nullptr) seen_us = std::max(seen_us, device.agent->last_seen_us());
  info.silent_us = std::max<int64_t>(now_us - seen_us, 0);
  info.address = device.address;
  return info;
}

}  // namespace

std::vector<AgentInfo> ListAgents(const DeviceTable& devices, std::string_view after, size_t limit,
                                  uint32_t worker, int64_t now_us) {
  const auto by_id = [](const Device* a, const Device* b) { return a->id < b->id; };
  std::vector<const Device*> first;  // a heap with the last id on top
  const auto add = [&](const Device& device) {
    if (device.id <= after || !device.speaks() || device.last_seen_us == 0) return;
    if (first.size() == limit) {
      if (first.empty() || !by_id(&device, first.front())) return;
      std::pop_heap(first.begin(), first.end(), by_id);
      first.pop_back();
    }
    first.push_back(&device);
    std::push_heap(first.begin(), first.end(), by_id);
  };
  devices.ForEach(add);
  devices.ForEachBridge([&add](const Device* bridge) {
    for (const auto& [id, device] : bridge->behind->devices) add(*device);
  });
  std::sort_heap(first.begin(), first.end(), by_id);
  std::vector<AgentInfo> infos;
  infos.reserve(first.size());
  for (const Device* device : first) infos.push_back(Describe(*device, worker, now_us));
  return infos;
}

std::vector<AgentInfo> MergeAgents(std::vector<std::vector<AgentInfo>> lists, size_t limit) {
  std::vector<AgentInfo> all;
  for (std::vector<AgentInfo>& list : lists) {
    std::move(list.begin(), list.end(), std::back_inserter(all));
  }
  std::sort(all.begin(), all.end(),
            [](const AgentInfo& a, const AgentInfo& b) { return a.device < b.device; });
  if (all.size() > limit) all.resize(limit);
  return all;
}

}  // namespace seganet
