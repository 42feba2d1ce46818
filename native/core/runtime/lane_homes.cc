#include "core/runtime/lane_homes.h"

#include <set>
#include <string>

namespace seganet {

std::shared_ptr<Lanes> LaneHomes::Make(bool leftovers) {
  LanesContext context = context_();
  context.leftovers = leftovers;
  context.on_strays = [this](std::vector<BatchPtr> strays) {
    const std::lock_guard<std::mutex> lock(homes_mutex_);
    BringHome(std::move(strays));
  };
  return std::make_shared<Lanes>(std::move(context));
}

std::shared_ptr<Lanes> LaneHomes::Get(uint32_t number) {
  const std::lock_guard<std::mutex> lock(lanes_mutex_);
  std::shared_ptr<Lanes>& lanes = lanes_[number];
  if (!lanes) lanes = Make(false);
  return lanes;
}

std::shared_ptr<Lanes> LaneHomes::Leftovers() {
  const std::lock_guard<std::mutex> lock(lanes_mutex_);
  if (!leftovers_) {
    leftovers_ = Make(true);
    leftovers_->SaveAll();
  }
  return leftovers_;
}

std::vector<std::shared_ptr<Lanes>> LaneHomes::All() {
  std::vector<std::shared_ptr<Lanes>> all;
  const std::lock_guard<std::mutex> lock(lanes_mutex_);
  for (const auto& [number, lanes] : lanes_) all.push_back(lanes);
  if (leftovers_) all.push_back(leftovers_);
  return all;
}

std::vector<std::shared_ptr<Lanes>> LaneHomes::Gaining(const Plan& plan) {
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

void LaneHomes::Apply(const Plan& plan) {
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
  const std::shared_ptr<Lanes> leftovers = Leftovers();
  // Leftovers keep the names of stages that are removed later.
  leftovers->SetNodes(std::move(names));
  // Leftovers stay there until their node is back.
  served[leftovers.get()] = std::move(all);
  for (const std::shared_ptr<Lanes>& lanes : All()) {
    BringHome(lanes->SetStages(std::move(served[lanes.get()])));
  }
}

// REQUIRES: homes_mutex_ is held, and the leftovers exist.
void LaneHomes::BringHome(std::vector<BatchPtr> strays) {
  std::map<Lanes*, std::vector<BatchPtr>> by_home;
  for (BatchPtr& batch : strays) {
    const auto it = homes_.find(batch->stage);
    Lanes* const home = it == homes_.end() ? leftovers_.get() : it->second.get();
    by_home[home].push_back(std::move(batch));
  }
  for (auto& [home, batches] : by_home) home->TakeIn(std::move(batches));
}

}  // namespace seganet
