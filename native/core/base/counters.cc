#include "core/base/counters.h"

namespace seganet {

#define X(id, name) name,
const std::array<const char*, kCounters> kCounterNames = {SEGANET_COUNTERS(X)};
const std::array<const char*, kDrops> kDropNames = {SEGANET_DROPS(X)};
#undef X

}  // namespace seganet
