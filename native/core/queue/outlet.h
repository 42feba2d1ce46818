// An outlet: one consumer of some classes of the lanes, which is a session of the uplink.
#ifndef SEGANET_CORE_QUEUE_OUTLET_H_
#define SEGANET_CORE_QUEUE_OUTLET_H_

#include <algorithm>
#include <deque>
#include <memory>

#include "core/base/clock.h"
#include "core/base/doorbell.h"
#include "core/queue/batch.h"
#include "core/queue/demand.h"
#include "core/queue/direct_session.h"
#include "core/queue/selection.h"
#include "core/queue/thrift.h"

namespace seganet {

// Lanes create an outlet (Attach), guard it with their mutex and delete it (Detach). Other code
// uses only its pointer.
struct Outlet {
  Outlet(Doorbell* doorbell, ClassMask served, const SelectionOptions& options,
         Outlet* leader = nullptr)
      : bell(doorbell),
        classes(served),
        is_second(leader != nullptr),
        twin(leader),
        backlog(options) {}

  Doorbell* const bell;
  const ClassMask classes;
  // Of Lanes::AttachSecond. Its batches in flight are in the list of its twin.
  const bool is_second;
  // The other outlet for class 1. Null = none; a second outlet then takes nothing.
  Outlet* twin;
  std::shared_ptr<DirectSession> direct;  // null = the bell always rings
  bool connected = false;                 // the session is up
  int64_t connected_us = 0;               // when `connected` last changed
  int64_t taken_us = 0;                   // when it last took a batch
  ClassMask held = 0;              // live classes that are held; the bell rings when a hold ends
  std::deque<BatchPtr> in_flight;  // in the order of Take
  DeliveryTime delivery;           // of batches that waited to save bytes
  // Selection among the backlog of this session alone, unlike live batches: the backlog has a share
  // of the session's window, and is sent only while no live batch is ready there.
  Selection backlog;

  // Its bit in Batch::takers.
  uint8_t taker() const { return is_second ? 2 : 1; }
  bool is_orphan() const { return is_second && twin == nullptr; }
  // True if its session is up, or that of its twin.
  bool is_up() const { return connected || (twin != nullptr && twin->connected); }
  // The outlet whose list has the batches of this one.
  Outlet& holder() { return is_second && twin != nullptr ? *twin : *this; }

  // Returns when the first taken live batch that is still in flight was pushed to the lanes.
  int64_t LiveSince() const {
    const auto first = std::find_if(in_flight.begin(), in_flight.end(),
                                    [](const BatchPtr& batch) { return !batch->backlog; });
    return first == in_flight.end() ? kNever : (*first)->sealed_us;
  }
};

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_OUTLET_H_
