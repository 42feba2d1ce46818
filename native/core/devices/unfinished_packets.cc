#include "core/devices/unfinished_packets.h"

#include <utility>

namespace seganet {
namespace {

// Every connection may hold this much of an incomplete packet, so a device whose packets arrive in
// two pieces never obstructs another.
constexpr size_t kFreeBytes = 4096;
// Larger incomplete packets need this rate after the patience.
constexpr int64_t kBytesPerS = 256;
constexpr size_t kMostCompared = 64;

}  // namespace

bool UnfinishedPackets::Set(Agent* agent, size_t bytes, bool is_new, int64_t now_us) {
  if (is_new || bytes <= kFreeBytes) Remove(agent);
  if (bytes <= kFreeBytes) return true;
  if (agent->unfinished == 0) {
    agent->unfinished_us = now_us;
    agent->unfinished_place = agents_.insert(agents_.end(), agent);
  }
  const auto before = static_cast<int64_t>(std::exchange(agent->unfinished, bytes));
  const int64_t more = static_cast<int64_t>(bytes) - before;
  bytes_.fetch_add(more, std::memory_order_relaxed);
  return memory_->Add(more) || more <= 0;
}

void UnfinishedPackets::Remove(Agent* agent) {
  if (agent->unfinished == 0) return;
  const auto bytes = static_cast<int64_t>(std::exchange(agent->unfinished, 0));
  memory_->Add(-bytes);
  bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  agents_.erase(agent->unfinished_place);
}

Agent* UnfinishedPackets::Costliest(int64_t now_us) const {
  if (memory_->used() <= memory_->limit()) return nullptr;
  // The cost of a packet is its bytes times its age, so a small packet on a slow link outlasts a
  // burst of large packets that begin later. Only the oldest packets are compared: young ones have
  // a low cost.
  const auto cost = [now_us](const Agent* agent) {
    return static_cast<double>(agent->unfinished) *
           static_cast<double>(now_us - agent->unfinished_us);
  };
  Agent* costliest = nullptr;
  size_t compared = 0;
  for (Agent* agent : agents_) {
    if (++compared > kMostCompared) break;
    if (costliest == nullptr || cost(agent) > cost(costliest)) costliest = agent;
  }
  return costliest;
}

std::vector<Agent*> UnfinishedPackets::TooSlow(int64_t now_us) {
  std::vector<Agent*> slow;
  for (Agent* agent : agents_) {
    // The worker has paused the device, so the device is not slow.
    if (!agent->is_read()) agent->unfinished_us = now_us;
    const int64_t waited_us = now_us - agent->unfinished_us;
    if (waited_us <= patience_us_) continue;
    const int64_t earned_us = static_cast<int64_t>(agent->unfinished) * 1'000'000 / kBytesPerS;
    const int64_t silent_us = now_us - agent->last_seen_us();
    if (silent_us > patience_us_ || waited_us > earned_us) slow.push_back(agent);
  }
  return slow;
}

}  // namespace seganet
