// Engine: moves the waiting batches of uplink nodes when a plan assigns them other lanes, or none.

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/runtime/engine.h"

namespace seganet {

// Returns the lanes that get a stage of other lanes.
std::vector<std::shared_ptr<Lanes>> Engine::GainingLanes(const Plan& plan) {
  const std::lock_guard<std::mutex> lock(homes_mutex_);
  std::vector<std::shared_ptr<Lanes>> gaining;
  for (const Stage& stage : plan.stages()) {
    if (stage.lanes == nullptr) continue;
    const auto it = homes_.find(stage.spec.id);
    const bool stays = it != homes_.end() && it->second == stage.lanes;
    if (!stays) gaining.push_back(stage.lanes);
  }
  return gaining;
}

// Applies the assignment of the new plan: moves all batches to the lanes of their stages. Lanes
// without a stage stay, empty, because their counters belong to the engine's sums.
void Engine::FindHomes(const Plan& plan) {
  const std::lock_guard<std::mutex> lock(homes_mutex_);
  homes_.clear();
  std::set<uint32_t> all;
  std::map<Lanes*, std::set<uint32_t>> served;
  std::map<uint32_t, std::string> names;
  for (const Stage& stage : plan.stages()) {
    if (stage.lanes == nullptr) continue;
    homes_[stage.spec.id] = stage.lanes;
    all.insert(stage.spec.id);
    served[stage.lanes.get()].insert(stage.spec.id);
    if (!stage.spec.name.empty()) names[stage.spec.id] = stage.spec.name;
  }
  std::shared_ptr<Lanes> leftovers;
  {
    const std::lock_guard<std::mutex> lanes_lock(lanes_mutex_);
    if (!leftovers_) {
      LanesContext context = ContextOfLanes();
      context.leftovers = true;
      leftovers_ = std::make_shared<Lanes>(std::move(context));
      leftovers_->SaveAll();
    }
    leftovers = leftovers_;
  }
  // Leftovers keep the names of stages that are removed later.
  leftovers->SetNodes(std::move(names));
  // Leftovers stay there until their node is back.
  served[leftovers.get()] = std::move(all);
  for (const std::shared_ptr<Lanes>& lanes : AllLanes()) {
    BringHome(lanes->SetStages(std::move(served[lanes.get()])));
  }
}

// REQUIRES: homes_mutex_ is held.
void Engine::BringHome(std::vector<BatchPtr> strays) {
  std::map<Lanes*, std::vector<BatchPtr>> by_home;
  for (BatchPtr& batch : strays) {
    const auto it = homes_.find(batch->stage);
    Lanes* const home = it == homes_.end() ? leftovers_.get() : it->second.get();
    by_home[home].push_back(std::move(batch));
  }
  for (auto& [home, batches] : by_home) home->TakeIn(std::move(batches));
}

}  // namespace seganet
