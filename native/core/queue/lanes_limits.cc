// Lanes: how old batches may become, how many may wait, and what leaves memory for that.
//
// What the log has leaves memory without being lost: it is spilled, and is backlog from then on.
// The order of a device's records within a class holds in both lanes, because a lane is spilled
// from its head on: what goes is older than all that follows. Two kinds of batches stay, and those
// behind them are spilled all the same, because live batches are sent before the backlog:
//   pinned   They were in flight before: the log may have been read, and delivered, beyond them
//            meanwhile. They are at most what the windows of the sessions hold.
//   tickets  They came from a flow that waits for their completion, which the log does not keep.

#include <algorithm>
#include <utility>

#include "core/queue/lanes.h"
#include "core/queue/lanes_leaving.h"

namespace seganet {

// Whether the first batch of a lane is older than its class may be.
bool Lanes::Expired(const Lane& lane, int64_t now_us) const {
  if (lane.empty()) return false;
  const Batch& batch = *lane.front();
  const int64_t ttl_us = context_.limits.ttl_us[batch.record_class];
  // The clock of an earlier run says nothing; its batches were looked at when they were read.
  return ttl_us > 0 && batch.epoch == context_.epoch && now_us - batch.oldest_us > ttl_us;
}

// Drops what is too old, and lets the log have what is stale: under a lasting overload, or after an
// outage, what is sent live is not much older than kStaleUs, and as soon as the load falls the live
// lane is short.
void Lanes::TidyLocked(ClassMask classes, int64_t now_us, Leaving* leaving) {
  for (uint8_t c = kCritical; c <= kClasses; ++c) {
    if (!(classes & MaskOf(c))) continue;
    for (Lane* lane : {&ready_[c], &backlog_[c]}) {
      while (Expired(*lane, now_us)) {
        if (lane == &backlog_[c]) backlog_bytes_[c] -= lane->front()->bytes.size();
        DropLocked(std::move(lane->front()), Drop::kExpired, leaving);
        lane->pop_front();
        leaving->read_on |= lane == &backlog_[c];
      }
    }
    const int64_t too_old = now_us - kStaleUs;
    Spill(
        c, [too_old](const Batch& batch) { return batch.oldest_us < too_old; }, leaving);
  }
}

// Lets go of the live batches of a class that may leave memory, the oldest first, up to the first
// one that `may_go` does not let go or that is not on disk.
void Lanes::Spill(uint8_t record_class, const std::function<bool(const Batch&)>& may_go,
                  Leaving* leaving) {
  Lane& lane = ready_[record_class];
  uint64_t& stay_below = stay_below_[record_class];
  auto it = lane.begin();
  if (it != lane.end() && (*it)->id < stay_below) {
    it = std::lower_bound(lane.begin(), lane.end(), stay_below,
                          [](const BatchPtr& b, uint64_t id) { return b->id < id; });
  }
  auto kept = it;
  for (; it != lane.end(); ++it) {
    Batch* batch = it->get();
    if (!batch->stays()) {
      if (!batch->on_disk() || !may_go(*batch)) break;
      stay_below = batch->id + 1;
      LeaveLog(batch);
      if (context_.ledger->Spilled(batch->chunk, batch->place)) {
        context_.budget->GiveBytes(batch->Cost());
        context_.budget->AddRecords(record_class, -int64_t{batch->record_count});
        leaving->room = true;
        it->reset();
        continue;
      }
      // The log has lost its row. It is written again, behind newer ones.
      batch->pinned = true;
      UnsaveLocked({batch});
    }
    stay_below = batch->id + 1;
    if (kept != it) *kept = std::move(*it);
    ++kept;
  }
  lane.erase(kept, it);
}

// The oldest leave first and the newest stay: they are what the cloud wants first.
void Lanes::SpillCrowd(Leaving* leaving) {
  for (uint8_t c = kClasses; c >= kCritical; --c) {
    Spill(
        c, [this, c](const Batch&) { return context_.budget->crowded(c); }, leaving);
  }
}

// The batch of a live lane that is dropped first where something has to be: the oldest, but those
// that were sent already, and are on disk, after all others. REQUIRES: the lane is not empty.
Lanes::Lane::iterator Lanes::NextToGo(uint8_t record_class) {
  Lane& lane = ready_[record_class];
  const auto it = std::find_if(lane.begin(), lane.end(), [](const BatchPtr& batch) {
    return !batch->pinned || !batch->on_disk();
  });
  return it == lane.end() ? lane.begin() : it;
}

// The limit of a class. The batch that came in last stays in any case, so that a class whose
// records are in flight, or wait for another uplink, does not lose all that comes; and what was
// sent already stays.
void Lanes::LimitRecords(uint8_t record_class, Leaving* leaving) {
  Lane& lane = ready_[record_class];
  const auto over = [&](const Batch&) { return context_.budget->over(record_class); };
  while (context_.budget->over(record_class)) {
    Spill(record_class, over, leaving);
    if (!context_.save.drop_when_full || !context_.budget->over(record_class) || lane.empty()) {
      return;
    }
    const auto next = NextToGo(record_class);
    if (next == lane.end() - 1 || ((*next)->pinned && (*next)->on_disk())) return;
    DropLocked(std::move(*next), Drop::kQueueFull, leaving);
    lane.erase(next);
  }
}

std::function<bool(const Batch&)> Lanes::Overflow(uint8_t record_class) const {
  return [this, record_class](const Batch&) { return context_.budget->overflows(record_class); };
}

void Lanes::SpillFull(uint8_t record_class) {
  Leaving leaving;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    Spill(record_class, Overflow(record_class), &leaving);
    // What was read last goes first, so that the rest stays in order.
    Lane& backlog = backlog_[record_class];
    while (!backlog.empty() && context_.budget->overflows(record_class)) {
      Batch* last = backlog.back().get();
      if (last->pinned || !last->on_disk()) break;
      if (!context_.ledger->Spilled(last->chunk, last->place)) break;
      LeaveLog(last);
      backlog_bytes_[record_class] -= last->bytes.size();
      leaving.Gone(std::move(backlog.back()), context_.budget);
      backlog.pop_back();
      unread_ |= MaskOf(record_class);
    }
  }
  Settle(&leaving);
}

uint64_t Lanes::FirstToGo(uint8_t record_class) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return ready_[record_class].empty() ? kNoBatch : (*NextToGo(record_class))->id;
}

bool Lanes::GiveUpFirst(uint8_t record_class) {
  Leaving leaving;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    Lane& lane = ready_[record_class];
    if (lane.empty()) return false;
    const auto next = NextToGo(record_class);
    DropLocked(std::move(*next), Drop::kMemoryFull, &leaving);
    lane.erase(next);
    // What was behind it may be on disk.
    Spill(record_class, Overflow(record_class), &leaving);
    RingHeldLocked(context_.clock());
  }
  Settle(&leaving);
  return true;
}

void Lanes::Sweep(int64_t now_us) {
  Leaving leaving;
  int64_t due = kNever;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    TidyLocked(kAllClasses, now_us, &leaving);
    if (context_.leftovers) GiveUpLocked(now_us - kLeftoverUs, &leaving);
    // Time alone may have ended it: nothing else rings then.
    RingHeldLocked(now_us);
    for (uint8_t c = kCritical; c <= kClasses; ++c) {
      due = std::min(due, DueLocked(c, now_us));
      if ((unread_ & MaskOf(c)) && HasRoomToRead(c)) leaving.read_on = true;
    }
    if (leaving.read_on) unread_ = 0;
  }
  if (due != kNever) context_.on_due(due);
  Settle(&leaving);
}

}  // namespace seganet
