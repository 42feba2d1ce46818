// The lanes of an engine, and which of them are the home of each uplink stage's batches.
#ifndef SEGANET_CORE_RUNTIME_LANE_HOMES_H_
#define SEGANET_CORE_RUNTIME_LANE_HOMES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/plan/plan.h"
#include "core/queue/lanes.h"

namespace seganet {

// A plan assigns each uplink stage its lanes. Batches that wait elsewhere move there when the plan
// changes; those of a removed stage wait in lanes of their own, the leftovers, until it is back.
//
// Thread safety: any thread.
class LaneHomes {
 public:
  // `context` makes the context of new lanes, except on_strays. It must not call this object.
  explicit LaneHomes(std::function<LanesContext()> context) : context_(std::move(context)) {}
  LaneHomes(const LaneHomes&) = delete;
  LaneHomes& operator=(const LaneHomes&) = delete;

  // Returns the lanes of uplink `number`, and creates them if they are new.
  std::shared_ptr<Lanes> Get(uint32_t number);
  // Returns all lanes, also the leftovers.
  std::vector<std::shared_ptr<Lanes>> All();

  // Returns the lanes that get a stage of other lanes with this plan.
  std::vector<std::shared_ptr<Lanes>> Gaining(const Plan& plan);
  // Applies the assignment of a new plan: moves all batches to the lanes of their stages. Lanes
  // without a stage stay, empty, because their counters belong to the engine's sums.
  void Apply(const Plan& plan);

 private:
  std::shared_ptr<Lanes> Make(bool leftovers);
  std::shared_ptr<Lanes> Leftovers();
  void BringHome(std::vector<BatchPtr> strays);

  const std::function<LanesContext()> context_;

  std::mutex lanes_mutex_;
  std::map<uint32_t, std::shared_ptr<Lanes>> lanes_;
  std::shared_ptr<Lanes> leftovers_;  // batches of removed stages; guarded by lanes_mutex_

  // The lanes of each uplink stage of the plan. The mutex also guards moves of batches between
  // lanes and is locked before theirs.
  std::mutex homes_mutex_;
  std::map<uint32_t, std::shared_ptr<Lanes>> homes_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_LANE_HOMES_H_
