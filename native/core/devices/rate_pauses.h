// Devices that sent more than their rate, and when each may be read again.
#ifndef SEGANET_CORE_DEVICES_RATE_PAUSES_H_
#define SEGANET_CORE_DEVICES_RATE_PAUSES_H_

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "core/base/clock.h"

namespace seganet {

class Agent;

// Thread safety: owned by one worker.
class RatePauses {
 public:
  // REQUIRES: it is not in.
  void Add(Agent* agent, int64_t until_us) { waiting_.emplace(until_us, agent); }
  // REQUIRES: it was added with this time.
  void Remove(Agent* agent, int64_t until_us) { waiting_.erase({until_us, agent}); }

  int64_t Next() const { return waiting_.empty() ? kNever : waiting_.begin()->first; }

  // Takes out those whose time has come.
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
