// The interface of a worker to the classes that move its connections to other workers.
#ifndef SEGANET_CORE_DEVICES_AGENT_TRANSFER_H_
#define SEGANET_CORE_DEVICES_AGENT_TRANSFER_H_

#include "core/devices/agent.h"

namespace seganet {

// A connection leaves by TakeOut(). On the other worker it arrives by Continue(), then Enter(),
// then Agent::Resume.
//
// Thread safety: owned by one worker.
class AgentTransfer {
 public:
  // Passes the records of this turn on, before other records of their devices can be passed on by
  // another worker.
  virtual void PassRecords() = 0;
  // Ends all that this worker knows of the agent, deletes it and returns its connection.
  // REQUIRES: nothing is unacknowledged.
  virtual MovedAgent TakeOut(Agent* agent) = 0;
  // Returns an agent for the connection of another worker, which this worker does not know yet.
  virtual Agent* Continue(MovedAgent moved) = 0;
  // Adds the agent to those of this worker. REQUIRES: it is of Continue().
  virtual void Enter(Agent* agent) = 0;

 protected:
  ~AgentTransfer() = default;
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_AGENT_TRANSFER_H_
