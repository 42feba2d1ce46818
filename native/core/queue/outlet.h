// One consumer of some classes of the lanes: a session of the uplink.
#ifndef SEGANET_CORE_QUEUE_OUTLET_H_
#define SEGANET_CORE_QUEUE_OUTLET_H_

#include <algorithm>
#include <deque>

#include "core/base/clock.h"
#include "core/base/doorbell.h"
#include "core/queue/appetite.h"
#include "core/queue/batch.h"
#include "core/queue/selection.h"

namespace seganet {

// Lanes make it (Attach), guard it by their mutex and end it (Detach); for others it is a name.
struct Outlet {
  Outlet(Doorbell* doorbell, ClassMask served, const SelectionOptions& options)
      : bell(doorbell), classes(served), live(options), backlog(options) {}

  Doorbell* const bell;
  const ClassMask classes;
  bool connected = false;          // its session is up
  std::deque<BatchPtr> in_flight;  // in the order of Take
  Selection live;
  Selection backlog;

  // When the live batch that it took first, and that is not acknowledged, came to the lanes.
  int64_t LiveSince() const {
    const auto first = std::find_if(in_flight.begin(), in_flight.end(),
                                    [](const BatchPtr& batch) { return !batch->backlog; });
    return first == in_flight.end() ? kNever : (*first)->sealed_us;
  }
};

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_OUTLET_H_
