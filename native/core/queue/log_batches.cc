#include "core/queue/log_batches.h"

#include <algorithm>
#include <utility>

namespace seganet {
namespace {

void GiveUp(const std::vector<Batch*>& batches) {
  for (Batch* batch : batches) {
    batch->saved = Saved::kGivenUp;
    batch->chunk = 0;
  }
}

}  // namespace

void LogBatches::Insert(Batch* batch) {
  if (has_log_) unsaved_[batch->record_class].Insert(batch);
}

void LogBatches::Join(Batch* batch) {
  if (!has_log_ || batch->chunk == 0) return;
  Stored& stored = stored_[batch->chunk];
  if (stored.batches.size() <= batch->place) stored.batches.resize(size_t{batch->place} + 1);
  stored.batches[batch->place] = batch;
  ++stored.left;
}

void LogBatches::Leave(Batch* batch) {
  if (!has_log_) return;
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

void LogBatches::Begin(uint64_t ticket, std::vector<Batch*> batches) {
  for (size_t i = 0; i < batches.size(); ++i) {
    unsaved_[batches[i]->record_class].Remove(batches[i]);
    batches[i]->saved = Saved::kUnderWay;
    batches[i]->chunk = ticket;
    batches[i]->place = static_cast<uint16_t>(i);
  }
  saving_[ticket] = std::move(batches);
}

// Ends the writing of a chunk, and returns its batches that are still in memory.
std::vector<Batch*> LogBatches::TakeWritten(uint64_t ticket) {
  const auto it = saving_.find(ticket);
  if (it == saving_.end()) return {};
  std::vector<Batch*> batches = std::move(it->second);
  saving_.erase(it);
  std::erase(batches, nullptr);
  return batches;
}

std::vector<Batch*> LogBatches::Commit(uint64_t ticket) {
  std::vector<Batch*> batches = TakeWritten(ticket);
  for (Batch* batch : batches) {
    batch->saved = Saved::kYes;
    Join(batch);
  }
  return batches;
}

void LogBatches::Fail(uint64_t ticket) { Unsave(TakeWritten(ticket)); }

std::vector<Batch*> LogBatches::Discard(uint64_t ticket) {
  std::vector<Batch*> batches = TakeWritten(ticket);
  GiveUp(batches);
  return batches;
}

std::vector<Batch*> LogBatches::Remove(uint64_t ticket) {
  const auto it = stored_.find(ticket);
  if (it == stored_.end()) return {};
  std::vector<Batch*> batches = std::move(it->second.batches);
  stored_.erase(it);
  std::erase(batches, nullptr);
  GiveUp(batches);
  return batches;
}

void LogBatches::Lose(uint64_t ticket) {
  std::array<std::vector<Batch*>, kClasses + 1> again;
  const auto lose = [&again](const Stored& stored, bool pin) {
    for (Batch* batch : stored.batches) {
      if (batch == nullptr) continue;
      batch->saved = Saved::kGivenUp;
      batch->chunk = 0;
      batch->pinned |= pin;
      if (!batch->backlog) again[batch->record_class].push_back(batch);
    }
  };
  if (ticket == 0) {
    for (const auto& [each, stored] : stored_) lose(stored, false);
    stored_.clear();
  } else if (const auto it = stored_.find(ticket); it != stored_.end()) {
    // Its batches are written again, after newer ones.
    lose(it->second, true);
    stored_.erase(it);
  }
  for (std::vector<Batch*>& batches : again) {
    std::sort(batches.begin(), batches.end(),
              [](const Batch* a, const Batch* b) { return a->id < b->id; });
    Unsave(batches);
  }
}

void LogBatches::Unsave(const std::vector<Batch*>& batches) {
  if (batches.empty()) return;
  for (Batch* batch : batches) {
    batch->saved = Saved::kNo;
    batch->chunk = 0;
  }
  unsaved_[batches.front()->record_class].InsertAll(batches);
}

void LogBatches::AddRecords(std::array<int64_t, kClasses + 1>* records) const {
  for (const auto& [ticket, batches] : saving_) {
    for (const Batch* batch : batches) {
      if (batch != nullptr) (*records)[batch->record_class] += batch->record_count;
    }
  }
  for (uint8_t c = kCritical; c <= kClasses; ++c) {
    (*records)[c] += static_cast<int64_t>(unsaved_[c].records());
  }
}

uint64_t LogBatches::steps() const {
  uint64_t steps = 0;
  for (const UnsavedBatches& unsaved : unsaved_) steps += unsaved.steps();
  return steps;
}

}  // namespace seganet
