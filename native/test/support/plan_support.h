// Shorthands for stages of plans.
#ifndef SEGANET_TEST_SUPPORT_PLAN_SUPPORT_H_
#define SEGANET_TEST_SUPPORT_PLAN_SUPPORT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/plan.h"

namespace seganet::test {

inline StageSpec Spec(uint32_t id, StageKind kind, std::vector<uint32_t> next = {},
                      bool messages = false) {
  StageSpec spec;
  spec.id = id;
  spec.kind = kind;
  spec.next = std::move(next);
  spec.messages = messages;
  return spec;
}

// Batches from the first device on; m = 1024, t = 1 s.
inline StageSpec BatchStage(uint32_t id, std::vector<uint32_t> next,
                            BatchMode mode = BatchMode::kEnvelope) {
  StageSpec spec = Spec(id, StageKind::kBatch, std::move(next));
  spec.batcher.mode = mode;
  spec.batcher.min_devices = 0;
  return spec;
}

inline StageSpec UplinkStage(uint32_t id, uint32_t uplink = 0) {
  StageSpec spec = Spec(id, StageKind::kUplink);
  spec.uplink = uplink;
  return spec;
}

// Returns what is wrong with a plan.
inline std::string Problem(const std::vector<StageSpec>& stages) {
  return ValidatePlan(stages).message();
}

}  // namespace seganet::test

#endif  // SEGANET_TEST_SUPPORT_PLAN_SUPPORT_H_
