#include "core/log/ledger.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string_view>
#include <utility>

#include "core/base/require.h"

namespace seganet {
namespace {

uint64_t Fingerprint(const std::vector<uint32_t>& records) {
  const std::string_view bytes(reinterpret_cast<const char*>(records.data()),
                               records.size() * sizeof(uint32_t));
  return std::hash<std::string_view>{}(bytes);
}

}  // namespace

bool Ledger::Open(int64_t max_row, const std::array<int64_t, kClasses + 1>& records,
                  const std::map<std::string, int64_t>& bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (opened_) return false;
  opened_ = true;
  max_row_ = max_row;
  for (uint8_t c = 1; c <= kClasses; ++c) {
    sums_.stored[c] += records[c];
    sums_.backlog[c] += records[c];
  }
  earlier_bytes_ = bytes;
  for (const auto& [node, n] : bytes) {
    DiskBytesLocked(node).fetch_add(n, std::memory_order_relaxed);
  }
  return true;
}

uint64_t Ledger::Seal(const std::string& node, uint8_t record_class,
                      std::vector<uint32_t> records) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t ticket = next_ticket_++;
  Chunk& chunk = chunks_[ticket];
  chunk.node = node;
  chunk.record_class = record_class;
  chunk.open = records.size();
  chunk.places.assign(records.size(), Place::kMemory);
  chunk.records = std::move(records);
  return ticket;
}

bool Ledger::Committed(uint64_t ticket, int64_t row) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = chunks_.find(ticket);
  if (it == chunks_.end()) return false;
  Chunk& chunk = it->second;
  chunk.row = row;
  by_row_[row] = ticket;
  for (size_t i = 0; i < chunk.places.size(); ++i) {
    if (chunk.places[i] != Place::kDone) sums_.stored[chunk.record_class] += chunk.records[i];
  }
  return chunk.open == 0 && Free(ticket, chunk);
}

void Ledger::Failed(uint64_t ticket) {
  const std::lock_guard<std::mutex> lock(mutex_);
  chunks_.erase(ticket);
}

bool Ledger::SendAgain(int64_t row, const std::string& node, uint8_t record_class,
                       std::vector<uint32_t> records) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (row <= max_row_ || IsKnownLocked(row, record_class)) return false;
  DiskRow on_disk;
  on_disk.row = row;
  on_disk.fingerprint = Fingerprint(records);
  on_disk.records = std::accumulate(records.begin(), records.end(), uint32_t{0});
  on_disk.batches = static_cast<uint32_t>(records.size());
  sums_.stored[record_class] += on_disk.records;
  sums_.backlog[record_class] += on_disk.records;
  AddOnDiskLocked(&RowsOf(node, record_class), on_disk);
  return true;
}

bool Ledger::Done(uint64_t ticket, size_t place) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = chunks_.find(ticket);
  if (it == chunks_.end()) return false;
  Chunk& chunk = it->second;
  if (place >= chunk.places.size() || chunk.places[place] == Place::kDone) return false;
  LeftDiskLocked(&chunk, place);
  chunk.places[place] = Place::kDone;
  --chunk.open;
  if (chunk.row == 0) return false;
  sums_.stored[chunk.record_class] -= chunk.records[place];
  return chunk.open == 0 && Free(ticket, chunk);
}

bool Ledger::Spilled(uint64_t ticket, size_t place, size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = chunks_.find(ticket);
  if (it == chunks_.end()) return false;
  Chunk& chunk = it->second;
  SEGANET_REQUIRE(chunk.row != 0);
  if (place >= chunk.places.size() || chunk.places[place] != Place::kMemory) return false;
  chunk.places[place] = Place::kDisk;
  ++chunk.on_disk;
  chunk.bytes.resize(chunk.places.size());
  chunk.bytes[place] = static_cast<uint32_t>(bytes);
  DiskBytesLocked(chunk.node).fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  sums_.backlog[chunk.record_class] += chunk.records[place];
  RowsOf(chunk.node, chunk.record_class).spilled[chunk.row] = ticket;
  ForgetIfOnDiskLocked(ticket, chunk);
  return true;
}

// Keeps only a DiskRow of a chunk of which memory holds nothing. No batch has its ticket anymore.
void Ledger::ForgetIfOnDiskLocked(uint64_t ticket, const Chunk& chunk) {
  if (chunk.on_disk != chunk.places.size()) return;
  DiskRow row;
  row.row = chunk.row;
  row.fingerprint = Fingerprint(chunk.records);
  row.bytes = std::accumulate(chunk.bytes.begin(), chunk.bytes.end(), int64_t{0});
  row.records = std::accumulate(chunk.records.begin(), chunk.records.end(), uint32_t{0});
  row.batches = static_cast<uint32_t>(chunk.records.size());
  Rows& rows = RowsOf(chunk.node, chunk.record_class);
  rows.spilled.erase(row.row);
  by_row_.erase(row.row);
  chunks_.erase(ticket);  // ends `chunk`
  AddOnDiskLocked(&rows, row);
}

// Rows nearly always leave memory in ascending order.
void Ledger::AddOnDiskLocked(Rows* rows, const DiskRow& row) {
  rows->on_disk.insert(FindOnDisk(rows, row.row), row);
}

// Returns the place of the row, or where it would be.
std::deque<Ledger::DiskRow>::iterator Ledger::FindOnDisk(Rows* rows, int64_t row) {
  std::deque<DiskRow>& all = rows->on_disk;
  if (all.empty() || all.back().row < row) return all.end();
  return std::lower_bound(all.begin(), all.end(), row,
                          [](const DiskRow& each, int64_t wanted) { return each.row < wanted; });
}

// True if the row is of this run, or was read, and not all of its batches are done.
bool Ledger::IsKnownLocked(int64_t row, uint8_t record_class) {
  if (by_row_.contains(row)) return true;
  for (auto& [key, rows] : rows_) {
    if (key.second != record_class) continue;
    const auto it = FindOnDisk(&rows, row);
    if (it != rows.on_disk.end() && it->row == row) return true;
  }
  return false;
}

std::atomic<int64_t>& Ledger::DiskBytesLocked(const std::string& node) {
  std::shared_ptr<std::atomic<int64_t>>& bytes = disk_bytes_[node];
  if (!bytes) bytes = std::make_shared<std::atomic<int64_t>>(0);
  return *bytes;
}

std::shared_ptr<const std::atomic<int64_t>> Ledger::DiskBytes(const std::string& node) {
  const std::lock_guard<std::mutex> lock(mutex_);
  DiskBytesLocked(node);
  return disk_bytes_[node];
}

// Rows of an earlier run, of at most this many bytes, no longer count.
void Ledger::ReadEarlierLocked(const std::string& node, int64_t bytes) {
  const auto it = earlier_bytes_.find(node);
  if (it == earlier_bytes_.end()) return;
  bytes = std::min(bytes, it->second);
  it->second -= bytes;
  DiskBytesLocked(node).fetch_sub(bytes, std::memory_order_relaxed);
}

// If all rows of earlier runs of the node were read, none of their bytes is left on disk, whatever
// Open reported. Missing() alone does not show it: the class that has the last row of the log is
// not asked for again.
void Ledger::EndEarlierLocked(const std::string& node) {
  const auto it = earlier_bytes_.find(node);
  if (it == earlier_bytes_.end() || it->second == 0) return;
  for (uint8_t c = kCritical; c <= kClasses; ++c) {
    const Rows& rows = RowsOf(node, c);
    if (!rows.exhausted && rows.read_to < max_row_) return;
  }
  ReadEarlierLocked(node, INT64_MAX);
}

// The batch is no longer only on disk.
void Ledger::LeftDiskLocked(Chunk* chunk, size_t place) {
  if (chunk->places[place] == Place::kDisk) --chunk->on_disk;
  if (place >= chunk->bytes.size()) return;
  const int64_t bytes = std::exchange(chunk->bytes[place], 0);
  DiskBytesLocked(chunk->node).fetch_sub(bytes, std::memory_order_relaxed);
}

bool Ledger::Free(uint64_t ticket, const Chunk& chunk) {
  frees_.push_back(chunk.row);
  by_row_.erase(chunk.row);
  chunks_.erase(ticket);  // ends `chunk`
  return true;
}

std::vector<int64_t> Ledger::TakeFrees(size_t most) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const size_t n = std::min(most, frees_.size());
  std::vector<int64_t> taken(frees_.end() - static_cast<std::ptrdiff_t>(n), frees_.end());
  frees_.resize(frees_.size() - n);
  handed_.insert(handed_.end(), taken.begin(), taken.end());
  return taken;
}

size_t Ledger::Freed() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(handed_, {}).size();
}

void Ledger::Returned() {
  const std::lock_guard<std::mutex> lock(mutex_);
  frees_.insert(frees_.end(), handed_.begin(), handed_.end());
  handed_.clear();
}

Ledger::Rows& Ledger::RowsOf(const std::string& node, uint8_t record_class) {
  return rows_[RowsKey(node, record_class)];
}

bool Ledger::Wants(const std::string& node, uint8_t record_class, WantedRow* wanted) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Rows& rows = RowsOf(node, record_class);
  wanted->node = node;
  wanted->record_class = record_class;
  // Rows ascend in the order of sealing: those of earlier runs, then those of this one.
  const int64_t first = std::min(rows.spilled.empty() ? INT64_MAX : rows.spilled.begin()->first,
                                 rows.on_disk.empty() ? INT64_MAX : rows.on_disk.front().row);
  if (rows.exhausted || rows.read_to >= max_row_ || first <= rows.read_to) {
    if (first == INT64_MAX) return false;
    wanted->after = first - 1;
    wanted->up_to = first;
  } else {
    wanted->after = rows.read_to;
    wanted->up_to = max_row_;
  }
  return true;
}

bool Ledger::Loaded(const WantedRow& wanted, int64_t row, const std::vector<uint32_t>& records,
                    uint64_t* ticket, std::vector<bool>* needed, size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Rows& rows = RowsOf(wanted.node, wanted.record_class);
  const auto known = by_row_.find(row);
  if (known == by_row_.end()) {
    const auto on_disk = FindOnDisk(&rows, row);
    const bool was_known = on_disk != rows.on_disk.end() && on_disk->row == row;
    if (was_known) {
      if (on_disk->batches != records.size() || on_disk->fingerprint != Fingerprint(records)) {
        return false;
      }
      DiskBytesLocked(wanted.node).fetch_sub(on_disk->bytes, std::memory_order_relaxed);
      rows.on_disk.erase(on_disk);
    }
    *ticket = next_ticket_++;
    Chunk& chunk = chunks_[*ticket];
    chunk.node = wanted.node;
    chunk.record_class = wanted.record_class;
    chunk.row = row;
    chunk.open = records.size();
    chunk.records = records;
    chunk.places.assign(records.size(), Place::kMemory);
    by_row_[row] = *ticket;
    if (!was_known) {
      rows.read_to = std::max(rows.read_to, row);
      ReadEarlierLocked(wanted.node, static_cast<int64_t>(bytes));
      EndEarlierLocked(wanted.node);
    }
    needed->assign(records.size(), true);
    for (const uint32_t n : records) sums_.backlog[wanted.record_class] -= n;
    return true;
  }
  *ticket = known->second;
  Chunk& chunk = chunks_[*ticket];
  if (chunk.records != records) return false;
  rows.spilled.erase(row);
  needed->assign(records.size(), false);
  for (size_t i = 0; i < records.size(); ++i) {
    if (chunk.places[i] != Place::kDisk) continue;
    LeftDiskLocked(&chunk, i);
    chunk.places[i] = Place::kMemory;
    (*needed)[i] = true;
    sums_.backlog[chunk.record_class] -= records[i];
  }
  return true;
}

GoneRow Ledger::Corrupt(const WantedRow& wanted, int64_t row, int64_t records) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Rows& rows = RowsOf(wanted.node, wanted.record_class);
  if (!IsKnownLocked(row, wanted.record_class)) rows.read_to = std::max(rows.read_to, row);
  EndEarlierLocked(wanted.node);
  return GoneLocked(row, wanted.record_class, records);
}

GoneRow Ledger::Missing(const WantedRow& wanted) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Rows& rows = RowsOf(wanted.node, wanted.record_class);
  const auto on_disk = FindOnDisk(&rows, wanted.up_to);
  const bool was_known = rows.spilled.contains(wanted.up_to) ||
                         (on_disk != rows.on_disk.end() && on_disk->row == wanted.up_to);
  if (was_known && wanted.after == wanted.up_to - 1) {
    return GoneLocked(wanted.up_to, wanted.record_class, 0);
  }
  rows.exhausted = true;
  EndEarlierLocked(wanted.node);
  return {};
}

GoneRow Ledger::Removed(int64_t row, uint8_t record_class, int64_t records) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!IsKnownLocked(row, record_class) && IsFreeLocked(row)) return {};
  return GoneLocked(row, record_class, records);
}

// True if all batches of the row are done, so that it may be, or was, deleted.
bool Ledger::IsFreeLocked(int64_t row) const {
  return row > max_row_ || std::find(frees_.begin(), frees_.end(), row) != frees_.end() ||
         std::find(handed_.begin(), handed_.end(), row) != handed_.end();
}

GoneRow Ledger::GoneLocked(int64_t row, uint8_t record_class, int64_t records) {
  const auto known = by_row_.find(row);
  if (known == by_row_.end()) {
    for (auto& [key, rows] : rows_) {
      if (key.second != record_class) continue;
      const auto on_disk = FindOnDisk(&rows, row);
      if (on_disk == rows.on_disk.end() || on_disk->row != row) continue;
      records = on_disk->records;
      DiskBytesLocked(key.first).fetch_sub(on_disk->bytes, std::memory_order_relaxed);
      rows.on_disk.erase(on_disk);
      break;
    }
    sums_.stored[record_class] -= records;
    sums_.backlog[record_class] -= records;
    return {records, 0};
  }
  const uint64_t ticket = known->second;
  Chunk& chunk = chunks_[ticket];
  int64_t lost = 0;
  for (size_t i = 0; i < chunk.places.size(); ++i) {
    LeftDiskLocked(&chunk, i);
    if (chunk.places[i] == Place::kDone) continue;
    sums_.stored[chunk.record_class] -= chunk.records[i];
    if (chunk.places[i] == Place::kDisk) lost += chunk.records[i];
  }
  sums_.backlog[chunk.record_class] -= lost;
  RowsOf(chunk.node, chunk.record_class).spilled.erase(row);
  chunks_.erase(ticket);
  by_row_.erase(known);
  return {lost, ticket};
}

std::array<int64_t, kClasses + 1> Ledger::Lost() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::array<int64_t, kClasses + 1> lost = sums_.backlog;
  earlier_bytes_.clear();
  for (const auto& [node, bytes] : disk_bytes_) bytes->store(0, std::memory_order_relaxed);
  // Chunks that are being written go to the new log.
  std::erase_if(chunks_, [](const auto& entry) { return entry.second.row != 0; });
  by_row_.clear();
  rows_.clear();
  frees_.clear();
  handed_.clear();
  sums_ = {};
  max_row_ = 0;
  return lost;
}

LedgerSums Ledger::sums() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return sums_;
}

}  // namespace seganet
