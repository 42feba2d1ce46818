// Lanes: results of writing chunks, and batches that were read back from them.

#include <algorithm>
#include <utility>

#include "core/queue/lanes.h"
#include "core/queue/lanes_leaving.h"

namespace seganet {

// Finds a batch in a live lane or in the backlog, where ids ascend; end = it is in flight.
Lanes::Lane::iterator Lanes::Find(Lane* lane, const Batch* batch) {
  const auto found = std::lower_bound(lane->begin(), lane->end(), batch->id,
                                      [](const BatchPtr& b, uint64_t id) { return b->id < id; });
  return found != lane->end() && found->get() == batch ? found : lane->end();
}

// Registers a batch in memory that is in a committed chunk.
void Lanes::JoinLog(Batch* batch) {
  if (!context_.save.log || batch->chunk == 0) return;
  Stored& stored = stored_[batch->chunk];
  if (stored.batches.size() <= batch->place) stored.batches.resize(size_t{batch->place} + 1);
  stored.batches[batch->place] = batch;
  ++stored.left;
}

// Removes all references to a batch that leaves these lanes from the log's interface.
void Lanes::LeaveLog(Batch* batch) {
  if (!context_.save.log) return;
  if (batch->saved == Saved::kNo) {
    unsaved_[batch->record_class].Remove(batch);
  } else if (batch->saved == Saved::kUnderWay) {
    const auto it = saving_.find(batch->chunk);
    if (it != saving_.end()) it->second[batch->place] = nullptr;
  } else if (batch->on_disk()) {
    const auto it = stored_.find(batch->chunk);
    if (it == stored_.end()) return;
    it->second.batches[batch->place] = nullptr;
    if (--it->second.left == 0) stored_.erase(it);
  }
}

void Lanes::Committed(uint64_t ticket) {
  Leaving leaving;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto it = saving_.find(ticket);
    if (it == saving_.end()) return;
    const std::vector<Batch*> batches = std::move(it->second);
    saving_.erase(it);
    ClassMask classes = 0;
    for (Batch* batch : batches) {
      if (batch == nullptr) continue;
      batch->saved = Saved::kYes;
      JoinLog(batch);
      leaving.receipts.Add(batch);
      classes |= MaskOf(batch->record_class);
    }
    TidyLocked(classes, context_.clock(), &leaving);
    SpillCrowd(&leaving);
    if (context_.leftovers) LeaveStoredLocked(&leaving);
    RingHeldLocked(context_.clock());
    for (const auto& outlet : outlets_) {
      if (context_.save.disk_first && (outlet->classes & classes)) outlet->bell->Ring();
    }
  }
  Settle(&leaving);
}

// Marks batches that must be written again.
// REQUIRES: they have one class and ascending ids, and are in no list.
void Lanes::UnsaveLocked(const std::vector<Batch*>& batches) {
  if (batches.empty()) return;
  for (Batch* batch : batches) {
    batch->saved = Saved::kNo;
    batch->chunk = 0;
  }
  unsaved_[batches.front()->record_class].InsertAll(batches);
}

void Lanes::Failed(uint64_t ticket) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = saving_.find(ticket);
  if (it == saving_.end()) return;
  std::vector<Batch*> batches = std::move(it->second);
  saving_.erase(it);
  std::erase(batches, nullptr);
  UnsaveLocked(batches);
}

void Lanes::Discard(uint64_t ticket) {
  Leaving leaving;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto it = saving_.find(ticket);
    if (it == saving_.end()) return;
    const std::vector<Batch*> batches = std::move(it->second);
    saving_.erase(it);
    for (Batch* batch : batches) {
      if (batch == nullptr) continue;
      batch->saved = Saved::kGivenUp;
      batch->chunk = 0;
      Lane& lane = ready_[batch->record_class];
      const auto found = Find(&lane, batch);
      if (found == lane.end()) continue;
      DropLocked(std::move(*found), Drop::kLogFull, &leaving);
      lane.erase(found);
    }
    RingHeldLocked(context_.clock());
  }
  Settle(&leaving);
}

void Lanes::Removed(uint64_t ticket) {
  Leaving leaving;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto it = stored_.find(ticket);
    if (it == stored_.end()) return;
    const Stored stored = std::move(it->second);
    stored_.erase(it);
    for (Batch* batch : stored.batches) {
      if (batch == nullptr) continue;
      const uint8_t c = batch->record_class;
      batch->saved = Saved::kGivenUp;
      batch->chunk = 0;
      Lane& lane = (batch->backlog ? backlog_ : ready_)[c];
      const auto found = Find(&lane, batch);
      if (found == lane.end()) {
        counters_.Add(Drop::kLogFull, c, batch->record_count);
        context_.budget->AddRecords(c, -int64_t{batch->record_count});
        batch->given_up = true;
        continue;
      }
      if (batch->backlog) backlog_bytes_[c] -= batch->bytes.size();
      leaving.read_on |= batch->backlog;
      DropLocked(std::move(*found), Drop::kLogFull, &leaving);
      lane.erase(found);
    }
    RingHeldLocked(context_.clock());
  }
  Settle(&leaving);
}

void Lanes::Unsave(uint64_t ticket) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::array<std::vector<Batch*>, kClasses + 1> again;
  const auto unsave = [&again](const Stored& stored, bool pin) {
    for (Batch* batch : stored.batches) {
      if (batch == nullptr) continue;
      batch->saved = Saved::kGivenUp;
      batch->chunk = 0;
      batch->pinned |= pin;
      if (!batch->backlog) again[batch->record_class].push_back(batch);
    }
  };
  if (ticket == 0) {
    for (const auto& [each, stored] : stored_) unsave(stored, false);
    stored_.clear();
  } else if (const auto it = stored_.find(ticket); it != stored_.end()) {
    // Its batches are written again, after newer ones.
    unsave(it->second, true);
    stored_.erase(it);
  }
  for (std::vector<Batch*>& batches : again) {
    std::sort(batches.begin(), batches.end(),
              [](const Batch* a, const Batch* b) { return a->id < b->id; });
    UnsaveLocked(batches);
  }
}

// True if there is room to read backlog of a class. The backlog counts against the limit of the
// class, in which live records take precedence. If memory is full and live records are dropped, the
// backlog would be spilled again.
bool Lanes::HasRoomToRead(uint8_t record_class) const {
  return !context_.budget->half_full(record_class) &&
         !(context_.save.drop_when_full && context_.budget->overflows(record_class));
}

bool Lanes::WantsBacklog(uint8_t record_class) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Outlet* outlet = serving_[record_class];
  if (outlet == nullptr || !outlet->connected) return false;
  if (backlog_bytes_[record_class] >= kReadAheadBytes) return false;
  const bool room = HasRoomToRead(record_class);
  if (!room) unread_ |= MaskOf(record_class);
  return room;
}

void Lanes::PushBacklog(std::vector<BatchPtr> batches) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (BatchPtr& batch : batches) {
    batch->id = context_.sequence->fetch_add(1, std::memory_order_relaxed) + 1;
    batch->backlog = true;
    batch->saved = Saved::kYes;
    JoinLog(batch.get());
    context_.budget->TakeBytes(batch->Cost());
    context_.budget->AddRecords(batch->record_class, batch->record_count);
    counters_.Add(Counter::kRecordsReplayed, batch->record_count);
    const uint8_t c = batch->record_class;
    backlog_bytes_[c] += batch->bytes.size();
    backlog_[c].push_back(std::move(batch));
    if (serving_[c] != nullptr) serving_[c]->bell->Ring();
  }
}

std::array<int64_t, kClasses + 1> Lanes::Unsaved() {
  std::array<int64_t, kClasses + 1> records{};
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto add = [&records](const Batch* batch) {
    if (batch != nullptr) records[batch->record_class] += batch->record_count;
  };
  for (const auto& [ticket, batches] : saving_) std::for_each(batches.begin(), batches.end(), add);
  const auto add_given_up = [&add](const Lane& lane) {
    for (const BatchPtr& batch : lane) {
      if (batch->saved == Saved::kGivenUp && !batch->given_up) add(batch.get());
    }
  };
  for (const auto& outlet : outlets_) add_given_up(outlet->in_flight);
  for (uint8_t c = kCritical; c <= kClasses; ++c) {
    records[c] += static_cast<int64_t>(unsaved_[c].records());
    add_given_up(backlog_[c]);
  }
  return records;
}

uint64_t Lanes::UnsavedSteps() {
  const std::lock_guard<std::mutex> lock(mutex_);
  uint64_t steps = 0;
  for (const UnsavedBatches& unsaved : unsaved_) steps += unsaved.steps();
  return steps;
}

}  // namespace seganet
