// The policy for a full memory where the user chose to drop: among all uplinks of an engine the
// least urgent batches go first, and of those the oldest.
#ifndef SEGANET_CORE_QUEUE_MAKE_ROOM_H_
#define SEGANET_CORE_QUEUE_MAKE_ROOM_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/queue/budget.h"
#include "core/queue/lanes.h"

namespace seganet {

// Brings the budget below its marks (Budget::overflows) after a batch of `record_class` came in.
// First what the log has is spilled, of any class, because that loses nothing. Then batches are
// dropped (`memoryFull`), but none that is more urgent than the one that came in. What is in flight
// stays. Thread safety: any thread that holds no lock of these lanes.
void MakeRoom(const std::vector<std::shared_ptr<Lanes>>& all, const Budget& budget,
              uint8_t record_class);

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_MAKE_ROOM_H_
