#include "core/runtime/read_pauses.h"

#include <algorithm>
#include <utility>

#include "core/base/clock.h"
#include "core/base/require.h"
#include "core/devices/device_table.h"
#include "core/plan/deferred_receipts.h"

namespace seganet {

// True if devices of every class must pause.
bool ReadPauses::AllMustPause() { return !reading_ || held_ || MessagesHigh(); }

bool ReadPauses::MessagesHigh() {
  const bool high = pipeline_->MessagesHigh();
  waits_for_messages_.store(high, std::memory_order_relaxed);
  return high;
}

// A device's next record is assumed to have the class of its latest one. A device that has not sent
// anything is assumed to send class 1, because that may be an alarm.
bool ReadPauses::MayRead(Agent* agent) {
  if (agent->paused == Agent::kPausedByMove) return false;
  if (WaitsForToken(agent)) return false;
  if (WaitsForFlow(agent->source())) {
    if (agent->paused == 0) {
      agent->paused = Agent::kPausedByFlow;
      by_flow_.push_back(agent);
    }
    return false;
  }
  uint8_t c = agent->latest_class;
  if (c == 0) c = agent->registered_class;
  if (c == 0) c = kCritical;
  if (HasRoomFor(c)) return true;
  if (agent->paused == 0) {
    agent->paused = c;
    by_class_[c].push_back(agent);
  }
  return false;
}

bool ReadPauses::HasRoomFor(uint8_t record_class) {
  if (AllMustPause()) return false;
  const Throttle::Verdict verdict = throttle_->MayGoOn(record_class);
  if (verdict == Throttle::Verdict::kBegins) counters_->Add(Counter::kSlowed);
  return verdict == Throttle::Verdict::kGoOn;
}

bool ReadPauses::WaitsForFlow(const SourceSettings& source) const {
  return source.delivered && deferred_->load(std::memory_order_relaxed) >= kMostDeferred;
}

// A device over its rate is not read until it has a token again.
bool ReadPauses::WaitsForToken(Agent* agent) {
  const TokenRate rate = agent->rate();
  if (!rate.limited() || agent->device == nullptr) return false;
  const int64_t now = MonotonicUs();
  const int64_t wait_us = agent->device->bucket.WaitUs(rate, now);
  if (wait_us <= 0) return false;
  if (agent->paused == 0) {
    counters_->Add(Counter::kThrottled);
    agent->paused = Agent::kPausedByRate;
    agent->paused_until_us = now + wait_us;
    by_rate_.Add(agent, agent->paused_until_us);
  }
  return true;
}

void ReadPauses::Remove(Agent* agent) {
  SEGANET_REQUIRE(agent->paused != Agent::kPausedByMove);
  const uint8_t paused = std::exchange(agent->paused, 0);
  if (paused == Agent::kPausedByRate) {
    by_rate_.Remove(agent, agent->paused_until_us);
  } else if (paused == Agent::kPausedByFlow) {
    std::erase(by_flow_, agent);
  } else if (paused != 0) {
    std::erase(by_class_[paused], agent);
  }
}

void ReadPauses::Resume() {
  for (uint8_t c = kCritical; c <= kClasses; ++c) {
    if (by_class_[c].empty() || throttle_->slowed(c) || AllMustPause()) continue;
    std::vector<Agent*> agents;
    agents.swap(by_class_[c]);
    for (Agent* agent : agents) {
      agent->paused = 0;
      agent->Resume();
    }
  }
}

void ReadPauses::ResumeAfterFlow() {
  if (by_flow_.empty() || deferred_->load(std::memory_order_relaxed) >= kMostDeferred) return;
  std::vector<Agent*> agents;
  agents.swap(by_flow_);
  for (Agent* agent : agents) agent->paused = 0;
  for (Agent* agent : agents) agent->Resume();
}

void ReadPauses::ResumeRated(int64_t now_us) {
  const std::vector<Agent*> over = by_rate_.Take(now_us);
  for (Agent* agent : over) agent->paused = 0;
  for (Agent* agent : over) agent->Resume();
}

bool ReadPauses::IsStill() const {
  const bool is_paused = std::any_of(by_class_.begin(), by_class_.end(),
                                     [](const auto& agents) { return !agents.empty(); });
  return reading_ && !held_ && !is_paused && by_flow_.empty();
}

}  // namespace seganet
