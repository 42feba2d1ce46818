// Lanes: batches of uplink nodes that a new plan moves to other lanes, or to none.
//
// A deploy may give an uplink node another broker, or remove the node. Its waiting batches move to
// the lanes that now serve the node. Batches that no lanes serve move to the lanes for leftovers,
// which save them. Ids ascend across all lanes of an engine, so merging by id keeps the order of
// each stage.

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/queue/lanes.h"
#include "core/queue/lanes_leaving.h"

namespace seganet {
namespace {

bool IsOlder(const BatchPtr& a, const BatchPtr& b) { return a->id < b->id; }

}  // namespace

// Prepares a batch for other lanes. If a chunk with it is being written, the chunk stays with these
// lanes, and the batch counts as done in it: the other lanes write it again.
void Lanes::MoveOutLocked(Batch* batch, Leaving* leaving) {
  log_.Leave(batch);
  memory_.MoveOut(*batch);
  if (batch->saved != Saved::kUnderWay) return;
  leaving->Over(*batch);
  batch->saved = Saved::kNo;
  batch->chunk = 0;
}

// Moves the batches of stages that these lanes do not serve from `lane` to `strays`.
void Lanes::TakeStraysLocked(Lane* lane, std::vector<BatchPtr>* strays, Leaving* leaving) {
  const auto first = std::stable_partition(
      lane->begin(), lane->end(), [this](const BatchPtr& b) { return ServesLocked(b->stage); });
  for (auto it = first; it != lane->end(); ++it) {
    if ((*it)->backlog) lanes_.backlog_bytes[(*it)->record_class] -= (*it)->bytes.size();
    MoveOutLocked(it->get(), leaving);
  }
  std::move(first, lane->end(), std::back_inserter(*strays));
  lane->erase(first, lane->end());
}

std::vector<BatchPtr> Lanes::SetStages(std::set<uint32_t> stages) {
  std::vector<BatchPtr> strays;
  Leaving leaving;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stages_ = std::move(stages);
    for (uint8_t c = kCritical; c <= kClasses; ++c) {
      TakeStraysLocked(&lanes_.ready[c], &strays, &leaving);
      TakeStraysLocked(&lanes_.backlog[c], &strays, &leaving);
    }
    turns_.RingHeld(context_.clock());
  }
  Settle(&leaving);
  return strays;
}

void Lanes::SetPaused(bool paused) {
  const std::lock_guard<std::mutex> lock(mutex_);
  turns_.SetPaused(paused);
  if (paused) return;
  for (const auto& outlet : outlets_) outlet->bell->Ring();
}

void Lanes::TakeIn(std::vector<BatchPtr> batches) {
  std::sort(batches.begin(), batches.end(), IsOlder);
  Leaving leaving;
  int64_t due = kNever;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const int64_t now = context_.clock();
    std::array<Lane, kClasses + 1> live;
    std::array<Lane, kClasses + 1> stored;
    for (BatchPtr& batch : batches) {
      const uint8_t c = batch->record_class;
      memory_.MoveIn(*batch);
      if (context_.leftovers) batch->sealed_us = now;
      if (batch->on_disk()) {
        log_.Join(batch.get());
      } else if (context_.save.log && !batch->backlog) {
        batch->saved = Saved::kNo;
        log_.Insert(batch.get());
      }
      if (batch->backlog) lanes_.backlog_bytes[c] += batch->bytes.size();
      (batch->backlog ? stored : live)[c].push_back(std::move(batch));
    }
    for (uint8_t c = kCritical; c <= kClasses; ++c) {
      turns_.BeginWait(c, now);
      stay_below_[c] = 0;  // older batches may be inserted
      for (auto [lane, more] :
           {std::pair(&lanes_.ready[c], &live[c]), std::pair(&lanes_.backlog[c], &stored[c])}) {
        Lane merged;
        std::merge(std::move_iterator(lane->begin()), std::move_iterator(lane->end()),
                   std::move_iterator(more->begin()), std::move_iterator(more->end()),
                   std::back_inserter(merged), IsOlder);
        *lane = std::move(merged);
      }
      due = std::min(due, DueLocked(c, now));
    }
    if (context_.leftovers) {
      LeaveStoredLocked(&leaving);
      if (!context_.save.log) GiveUpLocked(kNever, &leaving);
    }
    turns_.RingHeld(now);
    for (const auto& outlet : outlets_) {
      demand_.Withdraw(outlet->classes);
      outlet->bell->Ring();
    }
  }
  if (due != kNever) context_.on_due(due);
  Settle(&leaving);
}

// Removes batches on disk from memory.
void Lanes::LeaveStoredLocked(Leaving* leaving) {
  for (uint8_t c = kCritical; c <= kClasses; ++c) {
    for (Lane* lane : {&lanes_.ready[c], &lanes_.backlog[c]}) {
      const auto first = std::stable_partition(lane->begin(), lane->end(),
                                               [](const BatchPtr& b) { return !b->on_disk(); });
      for (auto it = first; it != lane->end(); ++it) {
        if ((*it)->backlog) lanes_.backlog_bytes[c] -= (*it)->bytes.size();
        LetGoLocked(std::move(*it), Drop::kUplinkRemoved, leaving);
      }
      lane->erase(first, lane->end());
    }
  }
}

// Drops batches that are not on disk and were added before `sealed_before_us`. They were never
// safe.
void Lanes::GiveUpLocked(int64_t sealed_before_us, Leaving* leaving) {
  for (uint8_t c = kCritical; c <= kClasses; ++c) {
    for (Lane* lane : {&lanes_.ready[c], &lanes_.backlog[c]}) {
      const auto first = std::stable_partition(
          lane->begin(), lane->end(),
          [sealed_before_us](const BatchPtr& b) { return b->sealed_us >= sealed_before_us; });
      for (auto it = first; it != lane->end(); ++it) {
        if ((*it)->backlog) lanes_.backlog_bytes[c] -= (*it)->bytes.size();
        leaving->withheld.Add(it->get());
        LetGoLocked(std::move(*it), Drop::kUplinkRemoved, leaving);
      }
      lane->erase(first, lane->end());
    }
  }
}

}  // namespace seganet
