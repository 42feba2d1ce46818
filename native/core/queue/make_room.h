// The policy for full memory if the user chose to drop: among all uplinks of an engine, drops the
// least urgent batches first, and among these the oldest.
#ifndef SEGANET_CORE_QUEUE_MAKE_ROOM_H_
#define SEGANET_CORE_QUEUE_MAKE_ROOM_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/queue/budget.h"
#include "core/queue/lanes.h"

namespace seganet {

// Brings the budget below its thresholds (Budget::overflows) after a batch of `record_class`
// arrived. First spills batches of any class that are on disk, which loses nothing. Then drops
// batches (`memoryFull`), but none that is more urgent than the arrived one. Batches in flight
// stay.
//
// Thread safety: any thread that holds no lock of these lanes.
void MakeRoom(const std::vector<std::shared_ptr<Lanes>>& all, const Budget& budget,
              uint8_t record_class);

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_MAKE_ROOM_H_
