// The batches of one class that are not on disk, in the order of sealing.
#ifndef SEGANET_CORE_QUEUE_UNSAVED_H_
#define SEGANET_CORE_QUEUE_UNSAVED_H_

#include <cstdint>

#include "core/queue/batch.h"

namespace seganet {

// Links batches that someone else owns, so that one that was delivered leaves the list at once.
// Thread safety: none.
class UnsavedList {
 public:
  Batch* first() const { return first_; }
  size_t bytes() const { return bytes_; }
  uint64_t records() const { return records_; }

  // By id, which nearly always means at the end. REQUIRES: in no list.
  void Insert(Batch* batch) {
    Batch* before = last_;
    while (before != nullptr && before->id > batch->id) before = before->before;
    batch->before = before;
    batch->after = before == nullptr ? first_ : before->after;
    (before == nullptr ? first_ : before->after) = batch;
    (batch->after == nullptr ? last_ : batch->after->before) = batch;
    bytes_ += batch->bytes.size();
    records_ += batch->record_count;
  }

  // REQUIRES: in this list.
  void Remove(Batch* batch) {
    (batch->before == nullptr ? first_ : batch->before->after) = batch->after;
    (batch->after == nullptr ? last_ : batch->after->before) = batch->before;
    batch->before = batch->after = nullptr;
    bytes_ -= batch->bytes.size();
    records_ -= batch->record_count;
  }

 private:
  Batch* first_ = nullptr;
  Batch* last_ = nullptr;
  size_t bytes_ = 0;
  uint64_t records_ = 0;
};

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_UNSAVED_H_
