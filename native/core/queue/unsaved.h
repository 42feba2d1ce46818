// The batches of one class that are not on disk: for each stage a list in the order of sealing.
#ifndef SEGANET_CORE_QUEUE_UNSAVED_H_
#define SEGANET_CORE_QUEUE_UNSAVED_H_

#include <cstdint>
#include <map>
#include <vector>

#include "core/queue/batch.h"

namespace seganet {

// Links batches that someone else owns, so that one that was delivered leaves its list at once.
// Thread safety: none.
class UnsavedBatches {
 public:
  // The oldest of all stages, null = there is none. Its `after` is the next one of its stage.
  Batch* first() const {
    Batch* first = nullptr;
    for (const auto& [stage, list] : lists_) {
      if (first == nullptr || list.first->id < first->id) first = list.first;
    }
    return first;
  }
  size_t bytes() const { return bytes_; }
  uint64_t records() const { return records_; }
  // Neighbors that were passed to find places, since the start.
  uint64_t steps() const { return steps_; }

  // By id: a new batch goes to the end, one that was in flight to the front. Others cost a walk.
  // REQUIRES: in no list.
  void Insert(Batch* batch) {
    List& list = lists_[batch->stage];
    if (list.first == nullptr || batch->id < list.first->id) return Link(batch, nullptr, &list);
    Batch* before = list.last;
    for (; before->id > batch->id; before = before->before) ++steps_;
    Link(batch, before, &list);
  }

  // By id, in one walk from the front: for batches of a chunk, which are the oldest.
  // REQUIRES: ascending ids; in no list.
  void InsertAll(const std::vector<Batch*>& batches) {
    std::map<uint32_t, Batch*> places;  // by stage: the last one that is older
    for (Batch* batch : batches) {
      List& list = lists_[batch->stage];
      Batch*& before = places[batch->stage];
      Batch* after = before == nullptr ? list.first : before->after;
      for (; after != nullptr && after->id < batch->id; after = after->after, ++steps_) {
        before = after;
      }
      Link(batch, before, &list);
      before = batch;
    }
  }

  // REQUIRES: in its list.
  void Remove(Batch* batch) {
    const auto it = lists_.find(batch->stage);
    List& list = it->second;
    (batch->before == nullptr ? list.first : batch->before->after) = batch->after;
    (batch->after == nullptr ? list.last : batch->after->before) = batch->before;
    batch->before = batch->after = nullptr;
    bytes_ -= batch->bytes.size();
    records_ -= batch->record_count;
    if (list.first == nullptr) lists_.erase(it);
  }

 private:
  struct List {
    Batch* first = nullptr;
    Batch* last = nullptr;
  };

  // `before` = its older neighbor, null = none.
  void Link(Batch* batch, Batch* before, List* list) {
    batch->before = before;
    batch->after = before == nullptr ? list->first : before->after;
    (before == nullptr ? list->first : before->after) = batch;
    (batch->after == nullptr ? list->last : batch->after->before) = batch;
    bytes_ += batch->bytes.size();
    records_ += batch->record_count;
  }

  std::map<uint32_t, List> lists_;  // by stage; none is empty
  size_t bytes_ = 0;
  uint64_t records_ = 0;
  uint64_t steps_ = 0;
};

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_UNSAVED_H_
