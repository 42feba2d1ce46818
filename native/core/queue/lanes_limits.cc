// Lanes: how old batches may become, how many may wait, and what leaves memory for that.
//
// What the log has leaves memory without being lost: it is spilled, and is backlog from then on.
// The order of a device's records within a class holds in both lanes, because a lane is spilled
// from its head on: what stays is newer than all that went. But batches that were in flight before,
// and came back to the head when their session ended, are never spilled: the log may have been
// read, and delivered, beyond them meanwhile. Memory holds them as it did while they were in
// flight, also where it is full; they are at most what the windows of the sessions hold.

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
    while (SpillFirst(&ready_[c], now_us - kStaleUs, leaving)) {
    }
  }
}

// Lets go of the first batch of a lane that was never in flight, if the log has it and it came in
// before `older_than_us`. False: nothing went.
bool Lanes::SpillFirst(Lane* lane, int64_t older_than_us, Leaving* leaving) {
  const auto first = std::find_if(lane->begin(), lane->end(),
                                  [](const BatchPtr& batch) { return !batch->redelivery; });
  // A message that waits for its completion is not read back: its ticket is known here only.
  if (first == lane->end() || !(*first)->on_disk() || (*first)->ticket != 0 ||
      (*first)->oldest_us >= older_than_us) {
    return false;
  }
  if (!context_.ledger->Spilled((*first)->chunk, (*first)->place)) {
    // It is not written again: it would come back behind newer ones that are on disk.
    (*first)->chunk = 0;
    return false;
  }
  const BatchPtr batch = std::move(*first);
  lane->erase(first);
  context_.budget->GiveBytes(batch->Cost());
  context_.budget->AddRecords(batch->record_class, -int64_t{batch->record_count});
  leaving->room = true;
  return true;
}

// Lets go of the first batch of a lane but those that must not be spilled, and the last `keep`.
// False: nothing went.
bool Lanes::LetGoFirst(Lane* lane, std::ptrdiff_t keep, Drop reason, Leaving* leaving) {
  const auto first = std::find_if(lane->begin(), lane->end(), [](const BatchPtr& batch) {
    return !batch->redelivery || !batch->on_disk();
  });
  if (lane->end() - first <= keep) return false;
  LetGoLocked(std::move(*first), reason, leaving);
  lane->erase(first);
  return true;
}

// The oldest leave first and the newest stay: they are what the cloud wants first.
void Lanes::SpillCrowd(Leaving* leaving) {
  for (uint8_t c = kClasses; c >= kCritical; --c) {
    while (context_.budget->crowded(c) && SpillFirst(&ready_[c], kNever, leaving)) {
    }
  }
}

// The limit of a class. The batch that came in last stays in any case, so that a class whose
// records are in flight, or wait for another uplink, does not lose all that comes.
void Lanes::LimitRecords(uint8_t record_class, Leaving* leaving) {
  Lane& lane = ready_[record_class];
  while (context_.budget->over(record_class)) {
    if (SpillFirst(&lane, kNever, leaving)) continue;
    if (!context_.save.drop_when_full) return;
    if (!LetGoFirst(&lane, 1, Drop::kQueueFull, leaving)) return;
  }
}

// The user chose to drop when memory is full: the least urgent first, and of those the oldest, but
// nothing more urgent than what comes in.
void Lanes::MakeRoom(uint8_t record_class, Leaving* leaving) {
  for (uint8_t c = kClasses; c >= record_class && context_.budget->high();) {
    if (SpillFirst(&ready_[c], kNever, leaving)) continue;
    if (!LetGoFirst(&ready_[c], 0, Drop::kMemoryFull, leaving)) --c;
  }
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
      if ((unread_ & MaskOf(c)) && !context_.budget->half_full(c)) leaving.read_on = true;
    }
    if (leaving.read_on) unread_ = 0;
  }
  if (due != kNever) context_.on_due(due);
  Settle(&leaving);
}

}  // namespace seganet
