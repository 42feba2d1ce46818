#include "core/plan/same_routes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace seganet {
namespace {

// The stages of `before` that records reach only by parts that the split stages of `plan` no longer
// have. No later record can overtake theirs.
class GoneParts {
 public:
  GoneParts(const Plan& before, const Plan& plan)
      : plan_(plan), feeders_(before.stages().size()), known_(before.stages().size()) {
    for (const Stage& stage : before.stages()) {
      for (size_t i = 0; i < stage.next.size(); ++i) {
        feeders_[stage.next[i]->index].push_back({&stage, i});
      }
    }
  }

  bool Has(const Stage& stage) {
    Known& known = known_[stage.index];
    if (known != Known::kNo && known != Known::kYes) {
      const std::vector<Feeder>& feeders = feeders_[stage.index];
      const bool all =
          !feeders.empty() && std::all_of(feeders.begin(), feeders.end(),
                                          [this](const Feeder& feeder) { return IsGone(feeder); });
      known = all ? Known::kYes : Known::kNo;
    }
    return known == Known::kYes;
  }

 private:
  enum class Known : uint8_t { kUnknown, kNo, kYes };
  struct Feeder {
    const Stage* stage;
    size_t next;  // index of the fed stage in stage->next
  };

  bool IsGone(const Feeder& feeder) {
    const Stage* now = plan_.Find(feeder.stage->spec.id);
    if (now == nullptr) return Has(*feeder.stage);
    if (feeder.stage->split == nullptr || now->split == nullptr) return false;
    return now->split->PartOf(feeder.stage->spec.parts[feeder.next].name) == nullptr;
  }

  const Plan& plan_;
  std::vector<std::vector<Feeder>> feeders_;  // by index of the fed stage
  std::vector<Known> known_;                  // the same
};

// True if each part that both stages have leads to the same stage. New parts had no records.
bool SameParts(const Stage& before, const Stage& now) {
  for (size_t i = 0; i < before.spec.parts.size(); ++i) {
    const Split::Part* part = now.split->PartOf(before.spec.parts[i].name);
    if (part != nullptr && now.spec.next[part->index()] != before.spec.next[i]) return false;
  }
  return true;
}

}  // namespace

bool SameRoutes(const Plan& before, const Plan& plan) {
  GoneParts gone(before, plan);
  const auto is_same = [&](const Stage& stage) {
    const Stage* now = plan.Find(stage.spec.id);
    if (now == nullptr) return gone.Has(stage);
    if (now->spec.kind != stage.spec.kind) return false;
    return stage.split != nullptr ? SameParts(stage, *now) : now->spec.next == stage.spec.next;
  };
  return std::all_of(before.stages().begin(), before.stages().end(), is_same);
}

}  // namespace seganet
