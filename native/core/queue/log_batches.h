// Where the batches in memory are in the log: to be written, in a chunk that is being written, or
// in a committed chunk.
#ifndef SEGANET_CORE_QUEUE_LOG_BATCHES_H_
#define SEGANET_CORE_QUEUE_LOG_BATCHES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "core/queue/batch.h"
#include "core/queue/unsaved.h"

namespace seganet {

// Keeps references only; the lanes and outlets own the batches, and tell when one leaves memory.
//
// Thread safety: none; the mutex of Lanes guards it.
class LogBatches {
 public:
  // Without a log, Insert, Join and Leave do nothing.
  explicit LogBatches(bool has_log) : has_log_(has_log) {}

  // The batch must be written.
  void Insert(Batch* batch);
  // The batch, which was read from the log or comes from other lanes, is in a committed chunk.
  void Join(Batch* batch);
  // The batch leaves memory, or leaves for other lanes.
  void Leave(Batch* batch);

  const UnsavedBatches& unsaved(uint8_t record_class) const { return unsaved_[record_class]; }

  // The batches are written as this chunk, at these places. REQUIRES: they must be written.
  void Begin(uint64_t ticket, std::vector<Batch*> batches);
  // The chunk is on disk. Returns its batches in memory.
  std::vector<Batch*> Commit(uint64_t ticket);
  // The chunk was not written: its batches must be written again.
  void Fail(uint64_t ticket);
  // The chunk will not be written. Returns its batches in memory, which are given up.
  std::vector<Batch*> Discard(uint64_t ticket);
  // The log removed a committed chunk. Returns its batches in memory, which are given up.
  std::vector<Batch*> Remove(uint64_t ticket);
  // The log lost a committed chunk, or all of them (0): its live batches must be written again.
  void Lose(uint64_t ticket);

  // Marks batches that must be written again. REQUIRES: they have one class and ascending ids, and
  // are in no list.
  void Unsave(const std::vector<Batch*>& batches);

  // Adds the records of batches that are not on disk, except those of batches that are given up.
  void AddRecords(std::array<int64_t, kClasses + 1>* records) const;
  // Returns the total of UnsavedBatches::steps.
  uint64_t steps() const;

 private:
  // The batches of a committed chunk by place; null = the batch has left.
  struct Stored {
    std::vector<Batch*> batches;
    size_t left = 0;  // number of batches that are not null
  };

  std::vector<Batch*> TakeWritten(uint64_t ticket);

  const bool has_log_;
  std::array<UnsavedBatches, kClasses + 1> unsaved_;
  // Chunks that are being written, by ticket; their batches by place, null = the batch has left.
  std::map<uint64_t, std::vector<Batch*>> saving_;
  std::unordered_map<uint64_t, Stored> stored_;  // by ticket
};

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_LOG_BATCHES_H_
