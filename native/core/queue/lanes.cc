#include "core/queue/lanes.h"

#include <algorithm>
#include <utility>

#include "core/queue/lanes_leaving.h"

namespace seganet {

static_assert(kClassSlots == kClasses + 1, "each class is counted");

namespace {

// Returns the counter of the batches that were sealed for this reason.
Counter SealedBy(SealReason reason) {
  static_assert(static_cast<size_t>(SealReason::kDemand) ==
                static_cast<size_t>(Counter::kSealedByDemand) -
                    static_cast<size_t>(Counter::kSealedBySingle));
  return static_cast<Counter>(static_cast<size_t>(Counter::kSealedBySingle) +
                              static_cast<size_t>(reason));
}

void RingOutlet(Outlet* outlet, uint8_t record_class) {
  if (record_class == kCritical) {
    outlet->bell->RingUrgent();
  } else {
    outlet->bell->Ring();
  }
}

}  // namespace

Lanes::Lanes(LanesContext context)
    : context_(std::move(context)),
      memory_(context_.budget),
      turns_(&context_, &lanes_, &outlets_),
      log_(context_.save.log) {}

void Lanes::Push(BatchPtr batch) {
  memory_.Take(*batch);
  const uint8_t c = batch->record_class;
  Leaving leaving;
  std::shared_ptr<DirectSession> direct, second;
  int64_t due = kNever;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const int64_t now = context_.clock();
    batch->id = context_.sequence->fetch_add(1, std::memory_order_relaxed) + 1;
    batch->sequence = batch->id;
    batch->epoch = context_.epoch;
    batch->sealed_us = now;
    counters_.Add(Counter::kBatchesSealed);
    counters_.Add(Counter::kSealedBytes, batch->bytes.size());
    counters_.Add(SealedBy(batch->reason));
    counters_.Add(Counter::kRecordsQueued, batch->record_count);
    log_.Insert(batch.get());
    turns_.BeginWait(c, now);
    lanes_.ready[c].push_back(std::move(batch));
    TidyLocked(MaskOf(c), now, &leaving);
    LimitRecords(c, &leaving);
    turns_.RingHeld(now);
    due = DueLocked(c, now);
    if (Outlet* outlet = serving_[c]; outlet != nullptr) {
      demand_.Withdraw(outlet->classes);
      direct = WakeLocked(outlet, c);
      if (c == kCritical && outlet->twin != nullptr) second = WakeLocked(outlet->twin, c);
    }
  }
  if (due != kNever) context_.on_due(due);
  Settle(&leaving);
  if (context_.save.drop_when_full && context_.budget->overflows(kClasses)) context_.on_full(c);
  const bool is_sent = !direct || direct->Send();
  if ((second && !second->Send()) || !is_sent) {
    const std::lock_guard<std::mutex> lock(mutex_);
    RingLocked(c);
  }
}

// Returns what sends the batches of the outlet on this thread; null = the outlet was rung.
std::shared_ptr<DirectSession> Lanes::WakeLocked(Outlet* outlet, uint8_t record_class) {
  if (outlet->direct && outlet->direct->MayTry()) return outlet->direct;
  RingOutlet(outlet, record_class);
  return nullptr;
}

// Under the mutex, so that a ring never reaches the doorbell of a detached outlet.
void Lanes::RingLocked(uint8_t record_class) {
  Outlet* const outlet = serving_[record_class];
  if (outlet == nullptr) return;
  RingOutlet(outlet, record_class);
  if (record_class == kCritical && outlet->twin != nullptr) RingOutlet(outlet->twin, record_class);
}

void Lanes::Clear(Drop reason) {
  Leaving leaving;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto clear = [&](Lane* lane) {
      for (BatchPtr& batch : *lane) LetGoLocked(std::move(batch), reason, &leaving);
      lane->clear();
    };
    for (const auto& outlet : outlets_) clear(&outlet->in_flight);
    for (uint8_t c = kCritical; c <= kClasses; ++c) {
      clear(&lanes_.ready[c]);
      clear(&lanes_.backlog[c]);
      lanes_.backlog_bytes[c] = 0;
    }
    turns_.RingHeld(context_.clock());
  }
  // Records that end with the engine are not acknowledged.
  if (reason == Drop::kClosed) leaving.receipts.Forget();
  Settle(&leaving);
}

// Removes a batch from memory. A batch on disk is read again later; any other is dropped.
void Lanes::LetGoLocked(BatchPtr batch, Drop reason, Leaving* leaving) {
  if (!batch->on_disk() ||
      !context_.ledger->Spilled(batch->chunk, batch->place, batch->bytes.size())) {
    DropLocked(std::move(batch), reason, leaving);
    return;
  }
  log_.Leave(batch.get());
  leaving->Gone(std::move(batch), &memory_);
}

// Drops a batch, also on disk.
void Lanes::DropLocked(BatchPtr batch, Drop reason, Leaving* leaving) {
  log_.Leave(batch.get());
  if (!batch->given_up) counters_.Add(reason, batch->record_class, batch->record_count);
  leaving->Over(*batch);
  leaving->Gone(std::move(batch), &memory_);
}

void Lanes::Settle(Leaving* leaving) {
  for (const BatchPtr& batch : leaving->gone) context_.on_done(*batch, false);
  if (context_.receipts != nullptr) {
    leaving->receipts.ReturnTo(context_.receipts);
    leaving->withheld.WithholdAt(context_.receipts);
  }
  bool freed = false;
  for (const auto& [chunk, place] : leaving->over) freed |= context_.ledger->Done(chunk, place);
  if (freed || leaving->read_on) context_.wake_log();
  if (leaving->room || !leaving->gone.empty()) context_.on_room();
}

}  // namespace seganet
