// Compares the routes of two plans.
#ifndef SEGANET_CORE_PLAN_SAME_ROUTES_H_
#define SEGANET_CORE_PLAN_SAME_ROUTES_H_

#include "core/plan/plan.h"

namespace seganet {

// True if the records of each stage of `before` take the same way in `plan`, so that none can
// overtake an earlier one that waits in an open batch. A stage that `plan` does not have counts as
// the same if records reached it only by parts that are gone, too.
bool SameRoutes(const Plan& before, const Plan& plan);

}  // namespace seganet

#endif  // SEGANET_CORE_PLAN_SAME_ROUTES_H_
