// The lanes of one uplink: for each class, a live lane and a backlog lane.
#ifndef SEGANET_CORE_QUEUE_LANE_SET_H_
#define SEGANET_CORE_QUEUE_LANE_SET_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>

#include "core/queue/batch.h"

namespace seganet {

// A FIFO of batches; their ids ascend.
using Lane = std::deque<BatchPtr>;

// Thread safety: none; the mutex of Lanes guards it.
struct LaneSet {
  std::array<Lane, kClasses + 1> ready;
  std::array<Lane, kClasses + 1> backlog;
  std::array<size_t, kClasses + 1> backlog_bytes{};

  // Returns the lane where the batch waits, or waited before it was in flight.
  Lane& Of(const Batch& batch) { return (batch.backlog ? backlog : ready)[batch.record_class]; }

  // Finds a batch in its lane; end of the lane = it is in flight.
  static Lane::iterator Find(Lane* lane, const Batch* batch) {
    const auto found = std::lower_bound(lane->begin(), lane->end(), batch->id,
                                        [](const BatchPtr& b, uint64_t id) { return b->id < id; });
    return found != lane->end() && found->get() == batch ? found : lane->end();
  }
};

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_LANE_SET_H_
