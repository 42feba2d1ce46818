// The ledger records which batches are on disk and not delivered yet, and which rows must be read
// to get them back into memory.
//
// It knows chunks and their batches by number, not their bytes: a chunk of this run since it was
// sealed, a chunk of an earlier run since it was read. A batch of a chunk is in memory, only on
// disk (spilled), or done. When all batches of a chunk are done, its row can be deleted.
#ifndef SEGANET_CORE_LOG_LEDGER_H_
#define SEGANET_CORE_LOG_LEDGER_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/record/record.h"

namespace seganet {

// Identifies a row to read: the first one of this uplink node and class in (after, up_to].
struct WantedRow {
  std::string node;
  uint8_t record_class = 0;
  int64_t after = 0;
  int64_t up_to = 0;
};

// Numbers of records by class.
struct LedgerSums {
  std::array<int64_t, kClasses + 1> stored{};   // on disk, not done
  std::array<int64_t, kClasses + 1> backlog{};  // of these, not in memory
};

// A chunk whose row was lost before all of its batches were done.
struct GoneRow {
  int64_t lost = 0;     // records that are not in memory
  uint64_t ticket = 0;  // the chunk whose other batches may be in memory; 0 = there are none
};

// Thread safety: any member from any thread.
class Ledger {
 public:
  // Reports that the log is open: rows up to `max_row` are from earlier runs and contain `records`
  // records by class, and `bytes` bytes by uplink node (for DiskBytes). Returns false, without
  // effect, after the first call: the ledger already knows the rows that a restarted store thread
  // finds.
  bool Open(int64_t max_row, const std::array<int64_t, kClasses + 1>& records,
            const std::map<std::string, int64_t>& bytes = {});

  // Adds a chunk that is about to be written; `records` has the number of records of each batch.
  // Returns its ticket, which is not 0.
  uint64_t Seal(const std::string& node, uint8_t record_class, std::vector<uint32_t> records);

  // Reports that the chunk is on disk. Returns true if its row can now be deleted.
  bool Committed(uint64_t ticket, int64_t row);

  // Reports that the chunk was not written, and removes it.
  void Failed(uint64_t ticket);

  // Adds a chunk of dead letters that the store thread moved to row `row`, to be read like backlog;
  // `records` has the number of records of each batch. Returns false, without effect, if the row is
  // not above all rows of earlier runs, or is known.
  bool SendAgain(int64_t row, const std::string& node, uint8_t record_class,
                 std::vector<uint32_t> records);

  // Reports that batch `place` was delivered or dropped. Ignores unknown tickets. Returns true if
  // the row can now be deleted.
  bool Done(uint64_t ticket, size_t place);

  // Reports that batch `place`, of this many bytes, leaves memory and must be read again later.
  // Returns false if the log does not have it, because its row was removed or is damaged. REQUIRES:
  // the chunk is committed.
  bool Spilled(uint64_t ticket, size_t place, size_t bytes = 0);

  // Returns the bytes of an uplink node's batches that are only on disk. A row of an earlier run
  // counts until it is read; one that was removed before, until all of its node's rows were read.
  // The same object for the same node.
  std::shared_ptr<const std::atomic<int64_t>> DiskBytes(const std::string& node);

  // Returns at most `most` rows to delete. They stay handed over until Freed, which reports that
  // they are deleted, or Returned, which makes them available again.
  std::vector<int64_t> TakeFrees(size_t most);
  // Returns the number of rows that were handed over.
  size_t Freed();
  void Returned();

  // Finds the oldest row of `node` and `record_class` with batches that are only on disk. Returns
  // false if there is none.
  bool Wants(const std::string& node, uint8_t record_class, WantedRow* wanted);

  // Reports the wanted row of `bytes` bytes with its batches. Returns false if they differ from
  // those that were written. Otherwise sets `ticket`, and for each batch whether memory must hold
  // it from now on.
  bool Loaded(const WantedRow& wanted, int64_t row, const std::vector<uint32_t>& records,
              uint64_t* ticket, std::vector<bool>* needed, size_t bytes = 0);

  // Reports that the wanted row is damaged, and removes it. `records` is the count in its row.
  GoneRow Corrupt(const WantedRow& wanted, int64_t row, int64_t records);

  // Reports that the wanted row does not exist.
  GoneRow Missing(const WantedRow& wanted);

  // Reports that a row was removed to make room.
  GoneRow Removed(int64_t row, uint8_t record_class, int64_t records);

  // Reports that a new log was started and no written row exists. Returns the records that are lost
  // because they are not in memory, by class.
  std::array<int64_t, kClasses + 1> Lost();

  LedgerSums sums();

 private:
  // The state of one batch.
  enum class Place : uint8_t { kMemory, kDisk, kDone };
  // Batches of one chunk. When all of them are only on disk, it becomes a DiskRow.
  struct Chunk {
    std::string node;
    uint8_t record_class = 0;
    int64_t row = 0;     // 0 = not committed
    size_t open = 0;     // batches that are not done
    size_t on_disk = 0;  // of these, batches that are only on disk
    std::vector<uint32_t> records;
    std::vector<Place> places;
    std::vector<uint32_t> bytes;  // of batches that are only on disk; empty until there are some
  };
  // A row that was sealed or read in this run, and whose batches are all only on disk: what remains
  // of its chunk. A log may have a million of them, so it is small.
  struct DiskRow {
    int64_t row = 0;
    uint64_t fingerprint = 0;  // of the numbers of records of its batches
    int64_t bytes = 0;         // of the batches, 0 = unknown
    uint32_t records = 0;
    uint32_t batches = 0;
  };
  // The rows of one uplink node and class.
  struct Rows {
    int64_t read_to = 0;                  // rows of earlier runs were read up to this one
    bool exhausted = false;               // all rows of earlier runs were read
    std::map<int64_t, uint64_t> spilled;  // rows with some batches only on disk → ticket
    std::deque<DiskRow> on_disk;          // ascending
  };
  using RowsKey = std::pair<std::string, uint8_t>;

  Rows& RowsOf(const std::string& node, uint8_t record_class);
  std::atomic<int64_t>& DiskBytesLocked(const std::string& node);
  void LeftDiskLocked(Chunk* chunk, size_t place);
  void ForgetIfOnDiskLocked(uint64_t ticket, const Chunk& chunk);
  void AddOnDiskLocked(Rows* rows, const DiskRow& row);
  static std::deque<DiskRow>::iterator FindOnDisk(Rows* rows, int64_t row);
  bool IsKnownLocked(int64_t row, uint8_t record_class);
  void ReadEarlierLocked(const std::string& node, int64_t bytes);
  void EndEarlierLocked(const std::string& node);
  bool Free(uint64_t ticket, const Chunk& chunk);
  bool IsFreeLocked(int64_t row) const;
  GoneRow GoneLocked(int64_t row, uint8_t record_class, int64_t records);

  std::mutex mutex_;
  uint64_t next_ticket_ = 1;
  bool opened_ = false;
  int64_t max_row_ = 0;
  std::unordered_map<uint64_t, Chunk> chunks_;
  std::unordered_map<int64_t, uint64_t> by_row_;  // row → ticket
  std::map<RowsKey, Rows> rows_;
  std::vector<int64_t> frees_;   // rows to delete
  std::vector<int64_t> handed_;  // rows that TakeFrees handed over
  LedgerSums sums_;
  std::map<std::string, std::shared_ptr<std::atomic<int64_t>>> disk_bytes_;  // by node
  std::map<std::string, int64_t> earlier_bytes_;  // of these, of rows of earlier runs; by node
};

}  // namespace seganet

#endif  // SEGANET_CORE_LOG_LEDGER_H_
