// Connections of a worker that hold a large incomplete packet, and which of them must end.
#ifndef SEGANET_CORE_DEVICES_UNFINISHED_PACKETS_H_
#define SEGANET_CORE_DEVICES_UNFINISHED_PACKETS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

#include "core/devices/agent.h"
#include "core/loop/memory_share.h"

namespace seganet {

// Thread safety: owned by one worker; bytes() from any thread.
class UnfinishedPackets {
 public:
  // `memory` is shared by all workers and outlives this object. After `patience_us` a packet must
  // have arrived at a minimum rate.
  UnfinishedPackets(MemoryShare* memory, int64_t patience_us)
      : memory_(memory), patience_us_(patience_us) {}

  // The agent's connection holds `bytes` of an incomplete packet; `is_new`: of another packet than
  // before. Returns false if all workers together now hold too much.
  bool Set(Agent* agent, size_t bytes, bool is_new, int64_t now_us);
  // The connection holds no incomplete packet any longer, or ends.
  void Remove(Agent* agent);

  // Returns the agent whose packet has used the most memory for the longest time if the memory of
  // all workers is above its limit, otherwise null.
  Agent* Costliest(int64_t now_us) const;
  // Returns the agents whose packet arrives too slowly.
  std::vector<Agent*> TooSlow(int64_t now_us);

  // Returns the memory of this worker's packets.
  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  MemoryShare* const memory_;
  const int64_t patience_us_;
  std::list<Agent*> agents_;  // oldest packet first
  std::atomic<int64_t> bytes_{0};
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_UNFINISHED_PACKETS_H_
