// Devices that exceeded their rate, and when each may be read again.
#ifndef SEGANET_CORE_DEVICES_RATE_PAUSES_H_
#define SEGANET_CORE_DEVICES_RATE_PAUSES_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/require.h"

namespace seganet {

class Agent;

// Thread safety: owned by one worker.
class RatePauses {
 public:
  // REQUIRES: the agent is not in the set.
  void Add(Agent* agent, int64_t until_us) {
    const bool is_new = waiting_.emplace(until_us, agent).second;
    SEGANET_REQUIRE(is_new);
  }
  // REQUIRES: the agent was added with this time.
  void Remove(Agent* agent, int64_t until_us) {
    const size_t removed = waiting_.erase({until_us, agent});
    SEGANET_REQUIRE(removed == 1);
  }

  // Returns when the first agent may be read again; kNever = there is none.
  int64_t Next() const { return waiting_.empty() ? kNever : waiting_.begin()->first; }

  // Takes out the agents that may be read again.
  std::vector<Agent*> Take(int64_t now_us) {
    std::vector<Agent*> over;
    while (!waiting_.empty() && waiting_.begin()->first <= now_us) {
      over.push_back(waiting_.begin()->second);
      waiting_.erase(waiting_.begin());
    }
    return over;
  }

 private:
  std::set<std::pair<int64_t, Agent*>> waiting_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_RATE_PAUSES_H_
