// Lanes: a second session that sends copies of class 1 over another path.

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/queue/lanes.h"

namespace seganet {

Outlet* Lanes::AttachSecond(Doorbell* doorbell) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Outlet* const lead = serving_[kCritical];
  if (lead == nullptr || lead->twin != nullptr) return nullptr;
  outlets_.push_back(
      std::make_unique<Outlet>(doorbell, MaskOf(kCritical), context_.selection, lead));
  lead->twin = outlets_.back().get();
  doorbell->Ring();
  return lead->twin;
}

Lanes::Copies Lanes::copies() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return copies_;
}

// Returns the first batch in flight that the outlet's twin has taken and the outlet has not; null =
// none. The outlet takes it before any batch that waits.
Batch* Lanes::OwedLocked(Outlet* outlet, ClassMask of) const {
  if (outlet->twin == nullptr || !(of & MaskOf(kCritical))) return nullptr;
  const auto& in_flight = outlet->holder().in_flight;
  const auto it = std::find_if(in_flight.begin(), in_flight.end(), [outlet](const BatchPtr& batch) {
    return batch->record_class == kCritical && !batch->backlog && !batch->given_up &&
           !(batch->takers & outlet->taker());
  });
  return it == in_flight.end() ? nullptr : it->get();
}

// Returns false if the outlet owes no batch; `taken` is then unchanged.
bool Lanes::TakeOwedLocked(Outlet* outlet, ClassMask of,
                           const std::function<bool(const Batch&)>& copy, bool* taken) {
  Batch* const owed = OwedLocked(outlet, of);
  if (owed == nullptr) return false;
  *taken = copy(*owed);
  if (*taken) {
    owed->takers |= outlet->taker();
    ++copies_.sent;
  }
  return true;
}

// Returns the batches that end their flight when the outlet is detached. Of a second outlet, these
// are the ones that its twin has not taken.
std::deque<BatchPtr> Lanes::LeaveFlightLocked(Outlet* outlet) {
  if (!outlet->is_second) return std::exchange(outlet->in_flight, {});
  if (outlet->twin == nullptr) return {};
  Lane& in_flight = outlet->twin->in_flight;
  for (const BatchPtr& batch : in_flight) {
    batch->takers = static_cast<uint8_t>(batch->takers & ~outlet->taker());
  }
  const auto first = std::stable_partition(
      in_flight.begin(), in_flight.end(), [](const BatchPtr& batch) { return batch->takers != 0; });
  std::deque<BatchPtr> alone;
  std::move(first, in_flight.end(), std::back_inserter(alone));
  in_flight.erase(first, in_flight.end());
  return alone;
}

}  // namespace seganet
