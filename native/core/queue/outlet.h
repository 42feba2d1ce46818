// One consumer of some classes of the lanes: a session of the uplink.
#ifndef SEGANET_CORE_QUEUE_OUTLET_H_
#define SEGANET_CORE_QUEUE_OUTLET_H_

#include <algorithm>
#include <deque>

#include "core/base/clock.h"
#include "core/base/doorbell.h"
#include "core/queue/batch.h"
#include "core/queue/demand.h"
#include "core/queue/selection.h"

namespace seganet {

// Lanes make it (Attach), guard it by their mutex and end it (Detach); for others it is a name.
struct Outlet {
  Outlet(Doorbell* doorbell, ClassMask served, const SelectionOptions& options)
      : bell(doorbell), classes(served), backlog(options) {}

  Doorbell* const bell;
  const ClassMask classes;
  bool connected = false;          // its session is up
  int64_t connected_us = 0;        // since when; or until when
  int64_t taken_us = 0;            // when it last took something
  ClassMask held = 0;              // live classes that it was not offered, to be rung for
  std::deque<BatchPtr> in_flight;  // in the order of Take
  // Its own, unlike that of live batches: the backlog has a share of the session's window, and goes
  // only while nothing live is ready there.
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
