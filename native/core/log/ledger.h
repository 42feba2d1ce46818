// The ledger: what is on disk and not delivered yet, and where memory has to look for it.
//
// It knows chunks and their batches by number, not their bytes: a chunk of this run from the moment
// that it is sealed, one of an earlier run once it was read. A batch of a chunk is held in memory,
// or only on disk (spilled), or done. A chunk whose batches are all done frees its row.
#ifndef SEGANET_CORE_LOG_LEDGER_H_
#define SEGANET_CORE_LOG_LEDGER_H_

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/record/record.h"

namespace seganet {

// A row to read: the first of this uplink node and class in (after, up_to].
struct WantedRow {
  std::string node;
  uint8_t record_class = 0;
  int64_t after = 0;
  int64_t up_to = 0;
};

struct LedgerSums {
  std::array<int64_t, kClasses + 1> stored{};   // records on disk, not done
  std::array<int64_t, kClasses + 1> backlog{};  // of these, not in memory
};

// A chunk whose row is gone before all of it was done.
struct GoneRow {
  int64_t lost = 0;     // records that memory does not hold
  uint64_t ticket = 0;  // memory may hold others under this one; 0 = it does not
};

// Thread safety: any member from any thread.
class Ledger {
 public:
  // Rows up to `max_row` are of earlier runs and hold so many records by class. Only the first call
  // counts: a store thread that was started again finds rows that the ledger knows.
  bool Open(int64_t max_row, const std::array<int64_t, kClasses + 1>& records);

  // A chunk is about to be written; `records` = of each of its batches. Returns its ticket, not 0.
  uint64_t Seal(const std::string& node, uint8_t record_class, std::vector<uint32_t> records);

  // It is on disk. True: rows can be freed that could not before.
  bool Committed(uint64_t ticket, int64_t row);

  // It is not, and never was.
  void Failed(uint64_t ticket);

  // Batch `place` was delivered or dropped. Unknown tickets are ignored. True as above.
  bool Done(uint64_t ticket, size_t place);

  // Memory lets go of it; it is read again later. REQUIRES: the chunk is committed. False: the log
  // has it no more, its row was removed or is damaged.
  bool Spilled(uint64_t ticket, size_t place);

  // Rows to delete, at most `most`. They are handed over until Freed, or until Returned, which
  // makes them wait again.
  std::vector<int64_t> TakeFrees(size_t most);
  // Returns how many.
  size_t Freed();
  void Returned();

  // What of `node` and `record_class` is only on disk, oldest first; false = nothing.
  bool Wants(const std::string& node, uint8_t record_class, WantedRow* wanted);

  // The wanted row was read and has these batches. False: they are not those that were written.
  // Otherwise `ticket`, and for each batch whether memory has to hold it from now on.
  bool Loaded(const WantedRow& wanted, int64_t row, const std::vector<uint32_t>& records,
              uint64_t* ticket, std::vector<bool>* needed);

  // The wanted row is damaged: it counts as gone. `records` as its row says.
  GoneRow Corrupt(const WantedRow& wanted, int64_t row, int64_t records);

  // There is no row to want.
  GoneRow Missing(const WantedRow& wanted);

  // A row was removed to make room.
  GoneRow Removed(int64_t row, uint8_t record_class, int64_t records);

  // The log has begun anew: nothing that was written is there any more. Returns how many records
  // are lost by that, by class: those that memory does not hold.
  std::array<int64_t, kClasses + 1> Lost();

  LedgerSums sums();

 private:
  enum class Place : uint8_t { kMemory, kDisk, kDone };
  struct Chunk {
    std::string node;
    uint8_t record_class = 0;
    int64_t row = 0;  // 0 = not committed
    size_t open = 0;  // places that are not done
    std::vector<uint32_t> records;
    std::vector<Place> places;
  };
  struct Shelf {
    int64_t read_to = 0;                  // rows of earlier runs up to this one were read
    bool exhausted = false;               // there are no more of those
    std::map<int64_t, uint64_t> spilled;  // row → ticket
  };
  using ShelfKey = std::pair<std::string, uint8_t>;

  Shelf& ShelfOf(const std::string& node, uint8_t record_class);
  bool Free(uint64_t ticket, const Chunk& chunk);
  bool IsFreeLocked(int64_t row) const;
  GoneRow GoneLocked(int64_t row, uint8_t record_class, int64_t records);

  std::mutex mutex_;
  uint64_t next_ticket_ = 1;
  bool opened_ = false;
  int64_t max_row_ = 0;
  std::unordered_map<uint64_t, Chunk> chunks_;
  std::unordered_map<int64_t, uint64_t> by_row_;
  std::map<ShelfKey, Shelf> shelves_;
  std::vector<int64_t> frees_;
  std::vector<int64_t> handed_;
  LedgerSums sums_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_LOG_LEDGER_H_
