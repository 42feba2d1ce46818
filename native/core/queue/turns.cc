#include "core/queue/turns.h"

#include <algorithm>

namespace seganet {
namespace {

// A session that has batches but took none for this long does not cause others to be held: it is
// stalled, or waits for a quota of its broker.
constexpr int64_t kStuckUs = 5'000'000;

// Interval of checking held classes again, because a hold can end by time alone.
constexpr int64_t kHeldRetryUs = 1'000'000;

}  // namespace

Turns::Turns(const LanesContext* context, const LaneSet* lanes, const Outlets* outlets)
    : context_(*context), lanes_(*lanes), outlets_(*outlets), live_(context->selection) {
  for (uint8_t c = kCritical; c <= kClasses; ++c) rates_[c].SetRate(context->limits.rate_per_s[c]);
}

void Turns::BeginWait(uint8_t record_class, int64_t now_us) {
  if (lanes_.ready[record_class].empty()) since_[record_class] = now_us;
}

void Turns::Pay(Outlet* outlet, const Batch& batch, int64_t now_us) {
  const uint8_t c = batch.record_class;
  if (batch.backlog) {
    outlet->backlog.Pay(c, batch.bytes.size(), Backlog(*outlet, now_us));
  } else {
    live_.Pay(c, batch.bytes.size(), Waiting(*outlet, now_us) | Contenders(*outlet, now_us));
    since_[c] = now_us;
  }
  outlet->taken_us = now_us;
  rates_[c].Pay(batch.record_count, now_us);
}

// True if the first live batch of a class may be taken. A batch that must be on disk first waits
// for at most patience_us, in case the disk fails.
bool Turns::MayLeave(uint8_t record_class, int64_t now_us) const {
  const Lane& lane = lanes_.ready[record_class];
  if (lane.empty()) return false;
  const SavePolicy& save = context_.save;
  return !save.disk_first || lane.front()->saved == Saved::kYes ||
         now_us - lane.front()->sealed_us > save.patience_us;
}

ClassMask Turns::Waiting(const Outlet& outlet, int64_t now_us) const {
  if (paused_) return 0;
  ClassMask waiting = 0;
  for (uint8_t c = kCritical; c <= kClasses; ++c) {
    if (MayLeave(c, now_us) && rates_[c].Ready(now_us)) waiting |= MaskOf(c);
  }
  return waiting & outlet.classes;
}

// Returns the outlet's classes with backlog that may be sent now.
ClassMask Turns::Backlog(const Outlet& outlet, int64_t now_us) const {
  if (paused_) return 0;
  ClassMask waiting = 0;
  for (uint8_t c = kCritical; c <= kClasses; ++c) {
    if (!lanes_.backlog[c].empty() && rates_[c].Ready(now_us)) waiting |= MaskOf(c);
  }
  return waiting & outlet.classes;
}

// Returns the time since which the class could have been served. Excludes the time when its session
// was down or its rate was used up, for which it is not compensated.
// REQUIRES: the class's rate is Ready.
int64_t Turns::WaitingSince(const Outlet& outlet, uint8_t record_class) const {
  return std::max({since_[record_class], rates_[record_class].ReadySinceUs(), outlet.connected_us});
}

// Returns the classes that wait at other sessions, and for which classes of this one may be held.
ClassMask Turns::Contenders(const Outlet& outlet, int64_t now_us) const {
  ClassMask contenders = 0;
  for (const auto& other : outlets_) {
    if (other.get() == &outlet || !other->connected) continue;
    const ClassMask waiting = Waiting(*other, now_us);
    for (uint8_t c = kHigh; c <= kClasses; ++c) {
      if (!(waiting & MaskOf(c))) continue;
      const int64_t idle_us = now_us - std::max(other->taken_us, WaitingSince(*other, c));
      if (idle_us <= kStuckUs) contenders |= MaskOf(c);
    }
  }
  return contenders;
}

// Returns the outlet's classes that are held.
ClassMask Turns::Held(const Outlet& outlet, int64_t now_us) const {
  if (outlets_.size() < 2) return 0;
  const ClassMask waiting = Waiting(outlet, now_us);
  return waiting == 0 ? 0 : live_.Ahead(waiting, Contenders(outlet, now_us));
}

// Returns the class that sent nothing for the aging time, of several the one that waited longest; 0
// = none.
uint8_t Turns::Overdue(const Outlet& outlet, ClassMask waiting, int64_t now_us) const {
  const int64_t aging_us = context_.selection.aging_us;
  if (aging_us <= 0) return 0;
  uint8_t overdue = 0;
  int64_t longest_us = aging_us - 1;
  for (uint8_t c = kHigh; c <= kClasses; ++c) {
    if (!(waiting & MaskOf(c))) continue;
    const int64_t waited_us = now_us - WaitingSince(outlet, c);
    if (waited_us <= longest_us) continue;
    overdue = c;
    longest_us = waited_us;
  }
  return overdue;
}

uint8_t Turns::Pick(Outlet* outlet, ClassMask of, int64_t now_us) const {
  const ClassMask waiting = Waiting(*outlet, now_us) & of;
  if (const uint8_t overdue = Overdue(*outlet, waiting, now_us); overdue != 0) return overdue;
  outlet->held = Held(*outlet, now_us);
  return live_.Best(waiting & ~outlet->held);
}

bool Turns::CanPick(const Outlet& outlet, int64_t now_us) const {
  return (Waiting(outlet, now_us) & ~Held(outlet, now_us)) != 0;
}

// Held batches are live and go before the backlog, which would use the same link. While a class is
// held, only backlog of class 1 may be sent.
uint8_t Turns::PickBacklog(Outlet* outlet, int64_t now_us) const {
  const ClassMask held = Held(*outlet, now_us);
  outlet->held |= held;
  const ClassMask may_go = held == 0 ? kAllClasses : MaskOf(kCritical);
  return outlet->backlog.Best(Backlog(*outlet, now_us) & may_go);
}

// An outlet that is still held is not rung, and a rung outlet
// is not rung again before it has checked, so one ring does not cause another.
void Turns::RingHeld(int64_t now_us) {
  for (const auto& outlet : outlets_) {
    if (outlet->held == 0) continue;
    const bool ended = (outlet->held & ~Held(*outlet, now_us)) != 0;
    if (!ended && Overdue(*outlet, Waiting(*outlet, now_us), now_us) == 0) continue;
    outlet->held = 0;
    outlet->bell->Ring();
  }
}

void Turns::RingUnsaved(int64_t now_us) {
  for (const auto& outlet : outlets_) {
    for (uint8_t c = kCritical; c <= kClasses; ++c) {
      if (!(outlet->classes & MaskOf(c)) || !MayLeave(c, now_us)) continue;
      if (lanes_.ready[c].front()->saved == Saved::kYes) continue;
      outlet->bell->Ring();
      break;
    }
  }
}

int64_t Turns::RetryUs(const Outlet& outlet, int64_t now_us) const {
  int64_t first = Held(outlet, now_us) != 0 ? kHeldRetryUs : kNever;
  for (uint8_t c = kCritical; c <= kClasses; ++c) {
    if (!(outlet.classes & MaskOf(c)) || rates_[c].Ready(now_us)) continue;
    if (MayLeave(c, now_us) || !lanes_.backlog[c].empty()) {
      first = std::min(first, rates_[c].WaitUs(now_us));
    }
  }
  return first == kNever ? -1 : first;
}

}  // namespace seganet
