// Lanes: limits of age, number and memory, and the batches that leave memory because of them.
//
// A batch on disk leaves memory without being lost: it is spilled, and is backlog from then on.
// A device's records of a class stay in order in both lanes, because a lane is spilled from its
// head: spilled batches are older than the remaining ones. Two kinds of batches stay in memory. The
// batches behind them are spilled nevertheless, because live batches are sent before the backlog:
//   pinned   They were in flight before, and in the meantime the log may have been read and
//   delivered
//            beyond them. There are at most as many as fit into the windows of the sessions.
//   tickets  They came from a flow that waits for their completion. The log does not store tickets.

#include <algorithm>
#include <utility>

#include "core/base/require.h"
#include "core/queue/lanes.h"
#include "core/queue/lanes_leaving.h"

namespace seganet {

// True if the first batch of a lane is older than its class allows.
bool Lanes::Expired(const Lane& lane, int64_t now_us) const {
  if (lane.empty()) return false;
  const Batch& batch = *lane.front();
  const int64_t ttl_us = context_.limits.ttl_us[batch.record_class];
  // Times of an earlier run are not comparable; its batches were checked when they were read.
  return ttl_us > 0 && batch.epoch == context_.epoch && now_us - batch.oldest_us > ttl_us;
}

// Drops expired batches, and spills those older than kStaleUs. Under a long overload, or after an
// outage, live batches are then not much older than kStaleUs when they are sent, and the live lane
// is short as soon as the load falls.
void Lanes::TidyLocked(ClassMask classes, int64_t now_us, Leaving* leaving) {
  for (uint8_t c = kCritical; c <= kClasses; ++c) {
    if (!(classes & MaskOf(c))) continue;
    for (Lane* lane : {&lanes_.ready[c], &lanes_.backlog[c]}) {
      while (Expired(*lane, now_us)) {
        if (lane == &lanes_.backlog[c]) lanes_.backlog_bytes[c] -= lane->front()->bytes.size();
        DropLocked(std::move(lane->front()), Drop::kExpired, leaving);
        lane->pop_front();
        leaving->read_on |= lane == &lanes_.backlog[c];
      }
    }
    const int64_t too_old = now_us - kStaleUs;
    Spill(
        c, [too_old](const Batch& batch) { return batch.oldest_us < too_old; }, leaving);
  }
}

// Spills live batches of a class, the oldest first, up to the first one that `may_go` refuses or
// that is not on disk. Skips batches that stay in memory.
void Lanes::Spill(uint8_t record_class, const std::function<bool(const Batch&)>& may_go,
                  Leaving* leaving) {
  Lane& lane = lanes_.ready[record_class];
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
      log_.Leave(batch);
      if (context_.ledger->Spilled(batch->chunk, batch->place, batch->bytes.size())) {
        memory_.Give(*batch);
        memory_.GiveRecords(*batch);
        leaving->room = true;
        ReadOnLocked(record_class, leaving);
        it->reset();
        continue;
      }
      // The log lost its row. It is written again, after newer batches.
      batch->pinned = true;
      log_.Unsave({batch});
    }
    stay_below = batch->id + 1;
    if (kept != it) *kept = std::move(*it);
    ++kept;
  }
  lane.erase(kept, it);
}

// Spills the oldest batches of crowded classes. The newest stay, because the cloud wants them
// first.
void Lanes::SpillCrowd(Leaving* leaving) {
  for (uint8_t c = kClasses; c >= kCritical; --c) {
    Spill(
        c, [this, c](const Batch&) { return context_.budget->crowded(c); }, leaving);
  }
}

// Returns the batch of a live lane to drop first: the oldest, but batches that were already sent
// and are on disk come last. REQUIRES: the lane is not empty.
Lane::iterator Lanes::NextToGo(uint8_t record_class) {
  Lane& lane = lanes_.ready[record_class];
  SEGANET_REQUIRE(!lane.empty());
  const auto it = std::find_if(lane.begin(), lane.end(), [](const BatchPtr& batch) {
    return !batch->pinned || !batch->on_disk();
  });
  return it == lane.end() ? lane.begin() : it;
}

// Enforces the record limit of a class. The newest batch always stays, so that a class whose
// records are in flight, or wait for another uplink, does not lose all new ones. Batches that were
// already sent stay too.
void Lanes::LimitRecords(uint8_t record_class, Leaving* leaving) {
  Lane& lane = lanes_.ready[record_class];
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
    // The batch that was read last leaves first, so that the rest stays in order.
    Lane& backlog = lanes_.backlog[record_class];
    while (!backlog.empty() && context_.budget->overflows(record_class)) {
      Batch* last = backlog.back().get();
      if (last->pinned || !last->on_disk()) break;
      if (!context_.ledger->Spilled(last->chunk, last->place, last->bytes.size())) break;
      log_.Leave(last);
      lanes_.backlog_bytes[record_class] -= last->bytes.size();
      leaving.Gone(std::move(backlog.back()), &memory_);
      backlog.pop_back();
      unread_ |= MaskOf(record_class);  // there is no room now: Sweep wakes the reader
    }
  }
  Settle(&leaving);
}

uint64_t Lanes::FirstToGo(uint8_t record_class) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return lanes_.ready[record_class].empty() ? kNoBatch : (*NextToGo(record_class))->id;
}

bool Lanes::GiveUpFirst(uint8_t record_class) {
  Leaving leaving;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    Lane& lane = lanes_.ready[record_class];
    if (lane.empty()) return false;
    const auto next = NextToGo(record_class);
    DropLocked(std::move(*next), Drop::kMemoryFull, &leaving);
    lane.erase(next);
    // Batches behind it may be on disk.
    Spill(record_class, Overflow(record_class), &leaving);
    turns_.RingHeld(context_.clock());
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
    // A hold may have ended by time alone, and then nothing else rings.
    turns_.RingHeld(now_us);
    // Nothing else rings while the disk hangs.
    if (context_.save.disk_first) turns_.RingUnsaved(now_us);
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
