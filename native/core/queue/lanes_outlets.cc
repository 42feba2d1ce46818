// Lanes: batches that the sessions of the uplink take and release.

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/queue/lanes.h"
#include "core/queue/lanes_leaving.h"

namespace seganet {

Outlet* Lanes::Attach(Doorbell* doorbell, ClassMask classes, bool rests) {
  const std::lock_guard<std::mutex> lock(mutex_);
  classes &= kAllClasses;
  if (classes == 0) return nullptr;
  for (const auto& other : outlets_) {
    // A second outlet without the first one takes nothing.
    if (!other->is_orphan() && (other->classes & classes)) return nullptr;
  }
  outlets_.push_back(std::make_unique<Outlet>(doorbell, classes, context_.selection));
  Outlet* outlet = outlets_.back().get();
  if (rests && context_.save.log) resting_.fetch_or(classes, std::memory_order_relaxed);
  for (uint8_t c = kCritical; c <= kClasses; ++c) {
    if (classes & MaskOf(c)) serving_[c] = outlet;
  }
  doorbell->Ring();
  return outlet;
}

// Returns a batch from flight to the head of its lane.
void Lanes::RestoreLocked(BatchPtr batch) {
  const uint8_t c = batch->record_class;
  batch->takers = 0;
  if (batch->saved == Saved::kGivenUp && !batch->backlog) {
    batch->saved = Saved::kNo;
    log_.Insert(batch.get());
  }
  if (!batch->backlog) turns_.BeginWait(c, context_.clock());
  if (batch->backlog) lanes_.backlog_bytes[c] += batch->bytes.size();
  lanes_.Of(*batch).push_front(std::move(batch));
}

void Lanes::Detach(Outlet* outlet) {
  std::vector<BatchPtr> strays;
  Leaving leaving;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!outlet->is_second) demand_.Withdraw(outlet->classes);
    std::deque<BatchPtr> in_flight = LeaveFlightLocked(outlet);
    // Ids ascend in the order of sealing, so the highest goes back first.
    std::sort(in_flight.begin(), in_flight.end(),
              [](const BatchPtr& a, const BatchPtr& b) { return a->id > b->id; });
    for (BatchPtr& batch : in_flight) {
      batch->redelivery = true;
      batch->pinned = true;
      if (batch->given_up) {
        leaving.Gone(std::move(batch), &memory_);
      } else if (ServesLocked(batch->stage)) {
        RestoreLocked(std::move(batch));
      } else {
        batch->takers = 0;
        MoveOutLocked(batch.get(), &leaving);
        strays.push_back(std::move(batch));
      }
    }
    for (Outlet*& serving : serving_) {
      if (serving == outlet) serving = nullptr;
    }
    if (!outlet->is_second) resting_.fetch_and(~outlet->classes, std::memory_order_relaxed);
    if (outlet->twin != nullptr) {
      outlet->twin->twin = nullptr;
      outlet->twin->bell->Ring();
    }
    std::erase_if(outlets_, [outlet](const auto& own) { return own.get() == outlet; });
    turns_.RingHeld(context_.clock());
  }
  Settle(&leaving);
  if (context_.save.log) context_.wake_log();
  if (!strays.empty()) context_.on_strays(std::move(strays));
}

void Lanes::Ring(Outlet* outlet) {
  const std::lock_guard<std::mutex> lock(mutex_);
  outlet->bell->Ring();
}

bool Lanes::Attend(std::shared_ptr<DirectSession> session, uint64_t attendance, int fd) {
  if (context_.attend) return context_.attend(std::move(session), attendance, fd);
  close(fd);
  return false;
}

void Lanes::SetDirect(Outlet* outlet, std::shared_ptr<DirectSession> direct) {
  const std::lock_guard<std::mutex> lock(mutex_);
  outlet->direct = std::move(direct);
}

void Lanes::SetConnected(Outlet* outlet, bool connected, int64_t now_us) {
  Leaving leaving;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (outlet->connected != connected) outlet->connected_us = now_us;
    outlet->connected = connected;
    if (!outlet->is_up()) demand_.Withdraw(outlet->classes);
    TidyLocked(outlet->classes, now_us, &leaving);
    turns_.RingHeld(now_us);
    for (uint8_t c = kCritical; c <= kClasses; ++c) HurriedLocked(c, now_us);
  }
  Settle(&leaving);
  // Down: batches are now due earlier. Up: the backlog must be read.
  if (context_.save.log) context_.wake_log();
}

uint8_t Lanes::Best(Outlet* outlet, int64_t now_us, ClassMask of) {
  Leaving leaving;
  uint8_t best = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    TidyLocked(outlet->classes, now_us, &leaving);
    turns_.RingHeld(now_us);
    if (OwedLocked(outlet, of) != nullptr) {
      best = kCritical;
    } else if (!outlet->is_orphan()) {
      best = turns_.Pick(outlet, of, now_us);
    }
  }
  Settle(&leaving);
  return best;
}

uint8_t Lanes::BestBacklog(Outlet* outlet, int64_t now_us) {
  Leaving leaving;
  uint8_t best = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    TidyLocked(outlet->classes, now_us, &leaving);
    turns_.RingHeld(now_us);
    if (!outlet->is_second) best = turns_.PickBacklog(outlet, now_us);
  }
  Settle(&leaving);
  return best;
}

int64_t Lanes::RetryUs(Outlet* outlet, int64_t now_us) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return turns_.RetryUs(*outlet, now_us);
}

bool Lanes::Take(Outlet* outlet, int64_t now_us, const std::function<bool(const Batch&)>& copy,
                 bool backlog, ClassMask of) {
  Leaving leaving;
  bool taken = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    TidyLocked(outlet->classes, now_us, &leaving);
    uint8_t c = 0;
    if (backlog) {
      if (!outlet->is_second) c = turns_.PickBacklog(outlet, now_us);
    } else if (!TakeOwedLocked(outlet, of, copy, &taken) && !outlet->is_orphan()) {
      c = turns_.Pick(outlet, of, now_us);
    }
    Lane& lane = backlog ? lanes_.backlog[c] : lanes_.ready[c];
    if (c != 0 && copy(*lane.front())) {
      taken = true;
      Batch& batch = *lane.front();
      batch.takers = outlet->taker();
      turns_.Pay(outlet, batch, now_us);
      if (batch.redelivery) counters_.Add(Counter::kBatchesRedelivered);
      if (backlog) {
        const size_t before = lanes_.backlog_bytes[c];
        lanes_.backlog_bytes[c] -= batch.bytes.size();
        leaving.read_on |= before >= kReadAheadBytes && lanes_.backlog_bytes[c] < kReadAheadBytes;
      }
      outlet->holder().in_flight.push_back(std::move(lane.front()));
      lane.pop_front();
    }
    turns_.RingHeld(now_us);
  }
  Settle(&leaving);
  return taken;
}

bool Lanes::Look(Outlet* outlet, uint64_t id, const std::function<void(const Batch&)>& show) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const BatchPtr& batch : outlet->holder().in_flight) {
    if (batch->id != id || !(batch->takers & outlet->taker())) continue;
    show(*batch);
    return true;
  }
  return false;
}

bool Lanes::Release(Outlet* outlet, uint64_t id, int64_t now_us, const Refusal& refusal) {
  BatchPtr batch;
  const bool delivered = refusal.records.empty();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    Lane& in_flight = outlet->holder().in_flight;
    // Acknowledgments arrive nearly in order, so the search is short.
    const auto it = std::find_if(in_flight.begin(), in_flight.end(),
                                 [id](const BatchPtr& b) { return b->id == id; });
    if (it == in_flight.end() || !((*it)->takers & outlet->taker())) return false;
    if ((*it)->takers != outlet->taker()) {
      ++(outlet->is_second ? copies_.second_first : copies_.lead_first);
    }
    batch = std::move(*it);
    in_flight.erase(it);
    log_.Leave(batch.get());
    const auto refused =
        static_cast<uint32_t>(std::min<size_t>(refusal.records.size(), batch->record_count));
    if (delivered) counters_.Add(Counter::kBatchesDelivered);
    if (batch->due_us != 0) CountDelivery(outlet, *batch, now_us);
    if (!batch->given_up) {  // otherwise its records are already counted
      counters_.Add(Counter::kRecordsDelivered, batch->record_count - refused);
      counters_.delivered[batch->record_class].Add(batch->record_count - refused);
      const Drop reason = context_.dead_letters != nullptr ? Drop::kDeadLetter : Drop::kRefused;
      if (refused > 0) counters_.Add(reason, batch->record_class, refused);
      context_.budget->AddRecords(batch->record_class, -int64_t{batch->record_count});
    }
  }
  if (delivered && !batch->backlog) {
    (*context_.latency)[batch->record_class].Add(now_us - batch->oldest_us);
  }
  context_.on_done(*batch, delivered);
  if (!delivered && context_.dead_letters != nullptr) {
    // Its bytes stay in the budget, and its device waits, until it is on disk.
    PushDeadLetter(std::move(batch), refusal);
    return true;
  }
  Leaving leaving;
  leaving.receipts.Add(batch.get());
  leaving.Over(*batch);
  memory_.Give(*batch);
  leaving.room = true;
  Settle(&leaving);
  return true;
}

// Measures the delivery of a batch with a patience. Outages do not count: they are no reason to
// wait less, and nothing that a batch could have done in time.
void Lanes::CountDelivery(Outlet* outlet, const Batch& batch, int64_t now_us) {
  const bool was_up = outlet->connected && outlet->connected_us <= batch.sealed_us;
  if (!was_up || batch.redelivery || batch.backlog) return;
  outlet->delivery.Add(std::max<int64_t>(0, now_us - batch.sealed_us));
  demand_.SetReserve(outlet->classes, outlet->delivery.AtMostUs());
  const bool is_late = now_us > batch.due_us && outlet->connected_us <= batch.oldest_us;
  if (is_late) counters_.late[batch.record_class].Add(batch.record_count);
}

void Lanes::PushDeadLetter(BatchPtr batch, const Refusal& refusal) {
  memory_.Give(*batch);
  const uint32_t count = batch->record_count;
  batch = PickRecords(std::move(batch), refusal.records);
  if (batch->record_count != count) {
    // The cloud has the other records. A receiver that knows their key would take these for copies
    // if they were sent again under it.
    batch->sequence = context_.sequence->fetch_add(1, std::memory_order_relaxed) + 1;
    if (batch->epoch != context_.epoch) batch->oldest_us = context_.clock();
    batch->epoch = context_.epoch;
  }
  context_.budget->TakeBytes(batch->Cost());
  context_.dead_letters->Push({std::move(batch), refusal.code, refusal.reason});
  context_.wake_log();
}

int64_t Lanes::OldestUs(Outlet* outlet, int64_t now_us) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // What a second outlet does not deliver, the other one does.
  if (outlet->is_second) return -1;
  int64_t oldest = now_us + 1;
  for (const BatchPtr& batch : outlet->in_flight) {
    if (!batch->backlog) oldest = std::min(oldest, batch->sealed_us);
  }
  for (uint8_t c = kCritical; c <= kClasses; ++c) {
    if (!(outlet->classes & MaskOf(c)) || lanes_.ready[c].empty()) continue;
    oldest = std::min(oldest, lanes_.ready[c].front()->sealed_us);
  }
  return oldest > now_us ? -1 : now_us - oldest;
}

void Lanes::RaiseDemand(Outlet* outlet, int64_t now_us) {
  bool wake = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    // A batch may have arrived since the session checked.
    if (!outlet->connected || outlet->is_orphan() || turns_.Waiting(*outlet, now_us) != 0 ||
        OwedLocked(outlet, kAllClasses) != nullptr) {
      return;
    }
    ClassMask empty = outlet->classes;
    for (uint8_t c = kCritical; c <= kClasses; ++c) {
      // A class that waits for its rate or the disk would not be sent sooner.
      if (!lanes_.ready[c].empty()) empty &= ~MaskOf(c);
    }
    wake = demand_.Raise(empty);
  }
  if (wake && context_.on_demand) context_.on_demand();
}

uint32_t Lanes::WaitingAt(Outlet* outlet, int64_t now_us) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!outlet->connected || outlet->is_orphan()) return 0;
  uint32_t places = 0;
  if (turns_.CanPick(*outlet, now_us) || OwedLocked(outlet, kAllClasses) != nullptr) {
    places |= kLive;
  }
  if (outlet->is_second) return places;
  if (turns_.PickBacklog(outlet, now_us) != 0) places |= kBacklog;
  if (!context_.save.log) return places;
  for (uint8_t c = kCritical; c <= kClasses; ++c) {
    // Otherwise, the batches that were read come first.
    if (!(outlet->classes & MaskOf(c)) || !lanes_.backlog[c].empty() || !HasRoomToRead(c)) continue;
    for (const auto& [stage, node] : nodes_) {
      WantedRow wanted;
      if (ServesLocked(stage) && context_.ledger->Wants(node, c, &wanted)) places |= kLog;
    }
  }
  return places;
}

void Lanes::WakeAll(Outlet* outlet) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    outlet->bell->RingAgain();
  }
  if (context_.wake_log_again) context_.wake_log_again();
  if (context_.on_demand) context_.on_demand();
}

void Lanes::SetBatchBytes(Outlet* outlet, uint32_t bytes) {
  demand_.SetBatchBytes(outlet->classes, bytes);
}

void Lanes::SetCost(Outlet* outlet, bool is_metered, uint32_t head_bytes, uint32_t record_bytes) {
  // Open batches may now have to wait for a shorter time.
  if (demand_.SetCost(outlet->classes, is_metered, head_bytes, record_bytes) &&
      demand_.has_savers() && context_.on_demand) {
    context_.on_demand();
  }
}

}  // namespace seganet
