// Which devices of a worker are not read now, why, and when they are read again.
#ifndef SEGANET_CORE_RUNTIME_READ_PAUSES_H_
#define SEGANET_CORE_RUNTIME_READ_PAUSES_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "core/base/counters.h"
#include "core/devices/agent.h"
#include "core/devices/rate_pauses.h"
#include "core/plan/pipeline.h"
#include "core/plan/plan.h"
#include "core/queue/throttle.h"

namespace seganet {

// A device waits while one of these holds: its class finds no room in memory, it exceeds its rate,
// or too many records of its source wait for a flow. All devices wait while the ring of messages
// is high, or while the engine holds reading. Agent::paused names the reason; an agent is in the
// list of that reason only. Agents of slots that are about to leave (Agent::kPausedByMove) are in
// the list of SlotMoves.
//
// TCP's flow control makes a device wait. A datagram socket is always read, and its records are
// refused for the same reasons (HasRoomFor, WaitsForFlow).
//
// Thread safety: owned by one worker; waits_for_messages() from any thread.
class ReadPauses {
 public:
  // `deferred` is the number of the engine's records that wait for a flow. All objects outlive this
  // one.
  ReadPauses(Throttle* throttle, const std::atomic<int64_t>* deferred, const Pipeline* pipeline,
             CounterBlock* counters)
      : throttle_(throttle), deferred_(deferred), pipeline_(pipeline), counters_(counters) {}
  ReadPauses(const ReadPauses&) = delete;
  ReadPauses& operator=(const ReadPauses&) = delete;

  // True if the agent may read its device. Otherwise the agent is paused, and Agent::Resume follows
  // when it may.
  bool MayRead(Agent* agent);
  // Forgets the pause of an agent that is about to leave the worker or to pause for another reason.
  // REQUIRES: the agent is not paused by a move.
  void Remove(Agent* agent);

  // True if a record of this class may enter.
  bool HasRoomFor(uint8_t record_class);
  // True if too many records of sources like this one wait for a flow.
  bool WaitsForFlow(const SourceSettings& source) const;
  // True if messages wait for JavaScript up to the limit. Then waits_for_messages() is true until
  // the next call.
  bool MessagesHigh();
  // True: the worker must wake up when JavaScript has taken messages.
  bool waits_for_messages() const { return waits_for_messages_.load(std::memory_order_relaxed); }

  // Reads no device any more.
  void Stop() { reading_ = false; }
  bool stopped() const { return !reading_; }
  // True: reads no device until it is called with false and Resume follows.
  void Hold(bool hold) { held_ = hold; }

  // Resumes the agents whose class has room.
  void Resume();
  // Resumes the agents that wait for a flow, if there is room.
  void ResumeAfterFlow();
  // Resumes the agents that may have a token. To be called at NextDeadline().
  void ResumeRated(int64_t now_us);
  // Returns when the first agent may have a token; kNever = none waits for one.
  int64_t NextDeadline() const { return by_rate_.Next(); }

  // True if no agent waits for the next call of Resume or ResumeAfterFlow.
  bool IsStill() const;

 private:
  bool AllMustPause();
  bool WaitsForToken(Agent* agent);

  Throttle* const throttle_;
  const std::atomic<int64_t>* const deferred_;
  const Pipeline* const pipeline_;
  CounterBlock* const counters_;
  bool reading_ = true;
  bool held_ = false;
  std::array<std::vector<Agent*>, kClasses + 1> by_class_;  // by Agent::paused
  std::vector<Agent*> by_flow_;                             // Agent::kPausedByFlow
  RatePauses by_rate_;                                      // Agent::kPausedByRate
  std::atomic<bool> waits_for_messages_{false};
};

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_READ_PAUSES_H_
