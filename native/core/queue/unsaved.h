// The batches of one class that are not on disk: one list per stage, in the order of sealing.
#ifndef SEGANET_CORE_QUEUE_UNSAVED_H_
#define SEGANET_CORE_QUEUE_UNSAVED_H_

#include <cstdint>
#include <map>
#include <vector>

#include "core/base/require.h"
#include "core/queue/batch.h"

namespace seganet {

// Links batches owned by the lanes, so that a delivered batch leaves its list in O(1).
//
// Thread safety: none.
class UnsavedBatches {
 public:
  // Returns the oldest batch of all stages, null = none. Its `after` is the next one of its stage.
  Batch* first() const {
    Batch* first = nullptr;
    for (const auto& [stage, list] : lists_) {
      if (first == nullptr || list.first->id < first->id) first = list.first;
    }
    return first;
  }
  size_t bytes() const { return bytes_; }
  uint64_t records() const { return records_; }
  // Returns the total number of list elements that Insert and InsertAll skipped.
  uint64_t steps() const { return steps_; }

  // Inserts a batch by id. A new batch is appended and one that was in flight is prepended, both in
  // O(1); others cost a walk. REQUIRES: the batch is in no list.
  void Insert(Batch* batch) {
    List& list = lists_[batch->stage];
    if (list.first == nullptr || batch->id < list.first->id) return Link(batch, nullptr, &list);
    Batch* before = list.last;
    for (; before->id > batch->id; before = before->before) ++steps_;
    Link(batch, before, &list);
  }

  // Inserts batches by id, in one walk from the front: for the batches of a chunk, which are the
  // oldest. REQUIRES: the ids ascend; the batches are in no list.
  void InsertAll(const std::vector<Batch*>& batches) {
    std::map<uint32_t, Batch*> places;  // by stage: the last one that is older
    for (Batch* batch : batches) {
      List& list = lists_[batch->stage];
      Batch*& before = places[batch->stage];
      SEGANET_REQUIRE(before == nullptr || before->id < batch->id);
      Batch* after = before == nullptr ? list.first : before->after;
      for (; after != nullptr && after->id < batch->id; after = after->after, ++steps_) {
        before = after;
      }
      Link(batch, before, &list);
      before = batch;
    }
  }

  // Removes a batch. REQUIRES: the batch is in its list.
  void Remove(Batch* batch) {
    const auto it = lists_.find(batch->stage);
    SEGANET_REQUIRE(it != lists_.end());
    List& list = it->second;
    SEGANET_REQUIRE((batch->before == nullptr ? list.first : batch->before->after) == batch);
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

  // Links the batch behind `before`, null = to the front. REQUIRES: the batch is in no list.
  void Link(Batch* batch, Batch* before, List* list) {
    SEGANET_REQUIRE(batch->before == nullptr && batch->after == nullptr && list->first != batch);
    batch->before = before;
    batch->after = before == nullptr ? list->first : before->after;
    (before == nullptr ? list->first : before->after) = batch;
    (batch->after == nullptr ? list->last : batch->after->before) = batch;
    bytes_ += batch->bytes.size();
    records_ += batch->record_count;
  }

  std::map<uint32_t, List> lists_;  // by stage; without empty lists
  size_t bytes_ = 0;
  uint64_t records_ = 0;
  uint64_t steps_ = 0;
};

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_UNSAVED_H_
