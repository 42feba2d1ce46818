// Lanes: results of writing chunks, and batches that were read back from them.

#include <algorithm>
#include <utility>

#include "core/queue/lanes.h"
#include "core/queue/lanes_leaving.h"

namespace seganet {

void Lanes::Committed(uint64_t ticket) {
  Leaving leaving;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ClassMask classes = 0;
    // Without SaveAll, the chunk was sealed while the disk counted.
    ReturningReceipts& receipts = save_all_ && !DiskCounts() ? leaving.withheld : leaving.receipts;
    for (Batch* batch : log_.Commit(ticket)) {
      receipts.Add(batch);
      classes |= MaskOf(batch->record_class);
    }
    TidyLocked(classes, context_.clock(), &leaving);
    SpillCrowd(&leaving);
    if (context_.leftovers) LeaveStoredLocked(&leaving);
    turns_.RingHeld(context_.clock());
    for (const auto& outlet : outlets_) {
      if (context_.save.disk_first && (outlet->classes & classes)) outlet->bell->Ring();
    }
  }
  Settle(&leaving);
}

void Lanes::Failed(uint64_t ticket) {
  const std::lock_guard<std::mutex> lock(mutex_);
  log_.Fail(ticket);
}

void Lanes::Discard(uint64_t ticket) {
  Leaving leaving;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (Batch* batch : log_.Discard(ticket)) {
      Lane& lane = lanes_.ready[batch->record_class];
      const auto found = LaneSet::Find(&lane, batch);
      if (found == lane.end()) continue;
      DropLocked(std::move(*found), Drop::kLogFull, &leaving);
      lane.erase(found);
    }
    turns_.RingHeld(context_.clock());
  }
  Settle(&leaving);
}

void Lanes::Removed(uint64_t ticket) {
  Leaving leaving;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (Batch* batch : log_.Remove(ticket)) {
      const uint8_t c = batch->record_class;
      Lane& lane = lanes_.Of(*batch);
      const auto found = LaneSet::Find(&lane, batch);
      if (found == lane.end()) {
        counters_.Add(Drop::kLogFull, c, batch->record_count);
        context_.budget->AddRecords(c, -int64_t{batch->record_count});
        batch->given_up = true;
        continue;
      }
      if (batch->backlog) lanes_.backlog_bytes[c] -= batch->bytes.size();
      leaving.read_on |= batch->backlog;
      DropLocked(std::move(*found), Drop::kLogFull, &leaving);
      lane.erase(found);
    }
    turns_.RingHeld(context_.clock());
  }
  Settle(&leaving);
}

void Lanes::Unsave(uint64_t ticket) {
  const std::lock_guard<std::mutex> lock(mutex_);
  log_.Lose(ticket);
}

// True if there is room to read backlog of a class. Live records take precedence in the limits:
// backlog must not fill the memory, so that devices wait or live records are dropped. One chunk is
// always read, unless it would be spilled again: records that wait for an uplink that is down, or
// for room in the log, may fill the memory until the backlog of the others has left.
bool Lanes::HasRoomToRead(uint8_t record_class) const {
  const Budget& budget = *context_.budget;
  if (budget.half_full(record_class)) return false;
  if (context_.save.drop_when_full) return !budget.overflows(record_class);
  return budget.relaxed(record_class) || lanes_.backlog[record_class].empty();
}

// The reader of the log sleeps when it finds no row to read. What ends each reason for that wakes
// it:
//   the session is down           SetConnected
//   enough was read ahead         Take, TidyLocked, Removed: when the backlog lane gets below
//                                 kReadAheadBytes (read_on)
//   no room in memory             Sweep, for the classes in unread_
//   nothing is only on disk       a batch that leaves memory while its session is up
//                                 (ReadOnLocked), SendAgain and SetPlan of StoreQueue
// A session that sends its last live batch wakes nobody, so the reader must be awake before that.
bool Lanes::WantsBacklog(uint8_t record_class) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Outlet* outlet = serving_[record_class];
  if (outlet == nullptr || !outlet->connected) return false;
  if (lanes_.backlog_bytes[record_class] >= kReadAheadBytes) return false;
  const bool room = HasRoomToRead(record_class);
  if (!room) unread_ |= MaskOf(record_class);
  return room;
}

// A batch of the class left memory and is only on disk.
void Lanes::ReadOnLocked(uint8_t record_class, Leaving* leaving) {
  const Outlet* outlet = serving_[record_class];
  // Otherwise, SetConnected or Take wakes the reader.
  if (outlet == nullptr || !outlet->connected) return;
  if (lanes_.backlog_bytes[record_class] >= kReadAheadBytes) return;
  if (HasRoomToRead(record_class)) {
    leaving->read_on = true;
  } else {
    unread_ |= MaskOf(record_class);
  }
}

void Lanes::PushBacklog(std::vector<BatchPtr> batches) {
  std::vector<BatchPtr> strays;
  Leaving leaving;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (BatchPtr& batch : batches) {
      batch->id = context_.sequence->fetch_add(1, std::memory_order_relaxed) + 1;
      batch->backlog = true;
      batch->saved = Saved::kYes;
      log_.Join(batch.get());
      memory_.Take(*batch);
      context_.budget->AddRecords(batch->record_class, batch->record_count);
      counters_.Add(Counter::kRecordsReplayed, batch->record_count);
      // A plan gave the stage to other lanes while the log was read.
      if (!ServesLocked(batch->stage)) {
        MoveOutLocked(batch.get(), &leaving);
        strays.push_back(std::move(batch));
        continue;
      }
      const uint8_t c = batch->record_class;
      lanes_.backlog_bytes[c] += batch->bytes.size();
      lanes_.backlog[c].push_back(std::move(batch));
      if (serving_[c] != nullptr) serving_[c]->bell->Ring();
    }
  }
  Settle(&leaving);
  if (!strays.empty()) context_.on_strays(std::move(strays));
}

std::array<int64_t, kClasses + 1> Lanes::Unsaved() {
  std::array<int64_t, kClasses + 1> records{};
  const std::lock_guard<std::mutex> lock(mutex_);
  log_.AddRecords(&records);
  const auto add_given_up = [&records](const Lane& lane) {
    for (const BatchPtr& batch : lane) {
      const bool counts = batch->saved == Saved::kGivenUp && !batch->given_up;
      if (counts) records[batch->record_class] += batch->record_count;
    }
  };
  for (const auto& outlet : outlets_) add_given_up(outlet->in_flight);
  for (const Lane& lane : lanes_.backlog) add_given_up(lane);
  return records;
}

uint64_t Lanes::UnsavedSteps() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return log_.steps();
}

}  // namespace seganet
