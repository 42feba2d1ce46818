// The agents of a worker whose next record is probably of class 1. Their data ends its naps.
#ifndef SEGANET_CORE_DEVICES_URGENT_URGENT_AGENTS_H_
#define SEGANET_CORE_DEVICES_URGENT_URGENT_AGENTS_H_

#include <cstddef>
#include <cstdint>
#include <unordered_set>

#include "core/base/nap.h"
#include "core/devices/agent.h"
#include "core/record/record.h"

namespace seganet {

// A worker does not know the class of a record before it has read it, so it judges by the agent's
// earlier records (Urgency): an agent is urgent if its device is registered with class 1, if its
// first record had class 1, or if more than about a third of its latest records had. An agent whose
// records are seldom of class 1 would end many naps for few alarms, and does not become urgent.
//
// At most kMost agents are urgent at a time. An agent stops being urgent when it sends other
// records, when it closes, and after kKeptUs without a record of class 1 unless its device is
// registered with class 1.
//
// Thread safety: owned by one worker. Times are microseconds of one monotonic clock.
class UrgentAgents {
 public:
  static constexpr size_t kMost = 256;
  static constexpr int64_t kKeptUs = 600'000'000;  // 10 min

  explicit UrgentAgents(Nap* nap) : nap_(nap) {}

  // The agent sent a record of this class, after classification.
  void OnRecord(Agent* agent, uint8_t record_class, int64_t now_us) {
    Urgency& urgency = agent->urgency;
    urgency.Count(record_class == kCritical);
    if (record_class == kCritical) urgency.latest_us = now_us;
    if (urgency.is_urgent() != urgency.is_listed) Update(agent);
  }

  // The agent's registered class was looked up.
  void OnRegistered(Agent* agent, int64_t now_us) {
    if (agent->registered_class != kCritical) return;
    agent->urgency.Presume();
    agent->urgency.latest_us = now_us;
    Update(agent);
  }

  // The agent began or stopped to be read. Data that is left in the socket must not end naps.
  void OnPolled(Agent* agent) {
    if (agent->urgency.is_listed) Follow(agent);
  }

  // The agent is about to close or to leave the worker.
  void Remove(Agent* agent) {
    if (agent->urgency.is_listed) {
      agent->urgency.score = 0;
      Update(agent);
    }
    agent->urgency = {};
  }

  // Call it now and then.
  void Sweep(int64_t now_us) {
    for (auto it = agents_.begin(); it != agents_.end();) {
      Agent* const agent = *it++;
      if (agent->registered_class == kCritical) continue;
      if (now_us - agent->urgency.latest_us >= kKeptUs) Remove(agent);
    }
  }

  size_t size() const { return agents_.size(); }

 private:
  // Lists the agent or removes it, as its urgency says.
  void Update(Agent* agent) {
    Urgency& urgency = agent->urgency;
    if (urgency.is_urgent() == urgency.is_listed) return;
    if (urgency.is_listed) {
      agents_.erase(agent);
    } else if (agents_.size() < kMost && !agent->closing()) {
      agents_.insert(agent);
    } else {
      return;
    }
    urgency.is_listed = !urgency.is_listed;
    Follow(agent);
  }

  // Watches the agent's socket while the agent is listed and read.
  void Follow(Agent* agent) {
    Urgency& urgency = agent->urgency;
    const bool wanted = urgency.is_listed && agent->waits_for_data();
    if (wanted == urgency.is_watched) return;
    if (wanted) {
      urgency.is_watched = nap_->Watch(agent->fd());
    } else {
      nap_->Unwatch(agent->fd());
      urgency.is_watched = false;
    }
  }

  Nap* const nap_;
  std::unordered_set<Agent*> agents_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_URGENT_URGENT_AGENTS_H_
