// The store thread of an engine: chunks in SQLite, with the settings of nodes/lib/store, called
// from C++ in place of JavaScript.
#ifndef SEGANET_BENCH_CORES_DISK_LOG_H_
#define SEGANET_BENCH_CORES_DISK_LOG_H_

#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/cpu.h"
#include "core/runtime/store_queue.h"

namespace seganet::bench {

// Thread safety: any member from any thread. REQUIRES: nothing else serves `queue`, which outlives
// this.
class DiskLog {
 public:
  // `file` must not exist. See error().
  DiskLog(StoreQueue* queue, const std::string& file) : queue_(queue) {
    if (sqlite3_open(file.c_str(), &db_) != SQLITE_OK || !Run(kLayout) ||
        !Prepare("INSERT INTO chunk VALUES (?, ?, ?, ?, ?, ?, ?, ?)", &insert_) ||
        !Prepare("DELETE FROM chunk WHERE id = ?", &delete_)) {
      error_ = sqlite3_errmsg(db_);
      return;
    }
    queue_->Attach(&bell_);
    queue_->Opened(0, {});
    thread_ = std::thread([this] { Serve(); });
  }
  ~DiskLog() {
    stops_ = true;
    bell_.Ring();
    if (thread_.joinable()) {
      thread_.join();
      queue_->Detach();
    }
    sqlite3_finalize(insert_);
    sqlite3_finalize(delete_);
    sqlite3_close(db_);
  }

  // Why the file could not be opened; empty = it is open.
  const std::string& error() const { return error_; }
  // A transaction failed, or the engine wanted to read rows, which this log does not do.
  bool has_failed() const { return has_failed_; }
  uint64_t commits() const { return commits_.load(std::memory_order_relaxed); }

 private:
  static constexpr const char* kLayout =
      "PRAGMA locking_mode = EXCLUSIVE; PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL;"
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
      "CREATE TABLE chunk (id INTEGER PRIMARY KEY, node TEXT NOT NULL, class INTEGER NOT NULL,"
      " records INTEGER NOT NULL, bytes INTEGER NOT NULL, first_ts INTEGER NOT NULL,"
      " last_ts INTEGER NOT NULL, body BLOB NOT NULL);"
      "CREATE INDEX chunk_lane ON chunk (node, class, id, records, bytes);";
  // Of the chunks of a transaction, about.
  static constexpr size_t kTransactionBytes = 1 << 20;
  static constexpr size_t kMostDeletes = 1024;

  class Bell : public Doorbell {
   public:
    // Waits for a ring, at most until `due_us`.
    void Await(int64_t due_us) {
      const int64_t wait_us = std::clamp<int64_t>(due_us - MonotonicUs(), 0, 1'000'000);
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait_for(lock, std::chrono::microseconds(wait_us), [this] { return is_rung_; });
      is_rung_ = false;
      Answer();
    }

   private:
    void Call() override {
      const std::lock_guard<std::mutex> lock(mutex_);
      is_rung_ = true;
      changed_.notify_one();
    }
    std::mutex mutex_;
    std::condition_variable changed_;
    bool is_rung_ = false;  // guarded by mutex_
  };

  bool Run(const char* sql) {
    return sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
  }
  bool Prepare(const char* sql, sqlite3_stmt** statement) {
    return sqlite3_prepare_v2(db_, sql, -1, statement, nullptr) == SQLITE_OK;
  }
  static bool Step(sqlite3_stmt* statement) {
    const bool is_done = sqlite3_step(statement) == SQLITE_DONE;
    sqlite3_reset(statement);
    return is_done;
  }

  void Serve() {
    NameThisThread("seganet-store");
    while (!stops_ && !has_failed_) {
      bell_.Await(queue_->Due(MonotonicUs()));
      WantedRow wanted;
      if (queue_->Wanted(&wanted) || !Save()) has_failed_ = true;
    }
  }

  // Writes the chunks that are due, and deletes rows whose records were delivered.
  bool Save() {
    const std::vector<int64_t> frees = queue_->TakeFrees(kMostDeletes);
    std::vector<std::pair<uint64_t, int64_t>> saved;
    bool is_good = true;
    size_t bytes = 0;
    const StoreTask* task = queue_->Next(MonotonicUs());
    if (task == nullptr && frees.empty()) return true;
    is_good = Run("BEGIN IMMEDIATE");
    for (const int64_t row : frees) {
      sqlite3_bind_int64(delete_, 1, row);
      is_good = is_good && Step(delete_);
    }
    for (; task != nullptr && is_good; task = queue_->Next(MonotonicUs())) {
      is_good = Insert(++last_row_, task->chunk);
      saved.emplace_back(task->chunk.ticket, last_row_);
      bytes += task->chunk.bytes.size();
      queue_->Taken();
      if (bytes >= kTransactionBytes) break;
    }
    if (!is_good || !Run("COMMIT")) return false;
    commits_.fetch_add(1, std::memory_order_relaxed);
    for (const auto& [ticket, row] : saved) queue_->Committed(ticket, row);
    if (!frees.empty()) queue_->Freed();
    return true;
  }

  bool Insert(int64_t row, const SealedChunk& chunk) {
    sqlite3_bind_int64(insert_, 1, row);
    sqlite3_bind_text(insert_, 2, chunk.node.data(), static_cast<int>(chunk.node.size()),
                      SQLITE_STATIC);
    sqlite3_bind_int(insert_, 3, chunk.record_class);
    sqlite3_bind_int64(insert_, 4, chunk.records);
    sqlite3_bind_int64(insert_, 5, static_cast<int64_t>(chunk.bytes.size()));
    sqlite3_bind_int64(insert_, 6, chunk.first_ts_ms);
    sqlite3_bind_int64(insert_, 7, chunk.last_ts_ms);
    sqlite3_bind_blob(insert_, 8, chunk.bytes.data(), static_cast<int>(chunk.bytes.size()),
                      SQLITE_STATIC);
    return Step(insert_);
  }

  StoreQueue* const queue_;
  sqlite3* db_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  sqlite3_stmt* delete_ = nullptr;
  std::string error_;
  Bell bell_;
  int64_t last_row_ = 0;
  std::atomic<bool> stops_{false};
  std::atomic<bool> has_failed_{false};
  std::atomic<uint64_t> commits_{0};
  std::thread thread_;
};

}  // namespace seganet::bench

#endif  // SEGANET_BENCH_CORES_DISK_LOG_H_
