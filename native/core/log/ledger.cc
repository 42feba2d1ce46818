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
  if (row <= max_row_ || by_row_.contains(row)) return false;
  const uint64_t ticket = next_ticket_++;
  Chunk& chunk = chunks_[ticket];
  chunk.node = node;
  chunk.record_class = record_class;
  chunk.row = row;
  chunk.open = records.size();
  chunk.on_disk = records.size();
  chunk.places.assign(records.size(), Place::kDisk);
  for (const uint32_t n : records) {
    sums_.stored[record_class] += n;
    sums_.backlog[record_class] += n;
  }
  chunk.records = std::move(records);
  SummarizeIfOnDisk(&chunk);
  by_row_[row] = ticket;
  RowsOf(node, record_class).spilled[row] = ticket;
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
  SummarizeIfOnDisk(&chunk);
  RowsOf(chunk.node, chunk.record_class).spilled[chunk.row] = ticket;
  return true;
}

void Ledger::SummarizeIfOnDisk(Chunk* chunk) {
  if (chunk->on_disk != chunk->places.size()) return;
  chunk->is_summary = true;
  chunk->fingerprint = Fingerprint(chunk->records);
  chunk->disk_records = std::accumulate(chunk->records.begin(), chunk->records.end(), int64_t{0});
  chunk->disk_bytes = std::accumulate(chunk->bytes.begin(), chunk->bytes.end(), int64_t{0});
  // Frees the memory, too.
  chunk->records = {};
  chunk->places = {};
  chunk->bytes = {};
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
  const int64_t first = rows.spilled.empty() ? INT64_MAX : rows.spilled.begin()->first;
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
    *ticket = next_ticket_++;
    Chunk& chunk = chunks_[*ticket];
    chunk.node = wanted.node;
    chunk.record_class = wanted.record_class;
    chunk.row = row;
    chunk.open = records.size();
    chunk.records = records;
    chunk.places.assign(records.size(), Place::kMemory);
    by_row_[row] = *ticket;
    rows.read_to = std::max(rows.read_to, row);
    ReadEarlierLocked(wanted.node, static_cast<int64_t>(bytes));
    EndEarlierLocked(wanted.node);
    needed->assign(records.size(), true);
    for (const uint32_t n : records) sums_.backlog[wanted.record_class] -= n;
    return true;
  }
  *ticket = known->second;
  Chunk& chunk = chunks_[*ticket];
  if (chunk.is_summary) {
    if (chunk.open != records.size() || chunk.fingerprint != Fingerprint(records)) return false;
    chunk.is_summary = false;
    chunk.records = records;
    chunk.places.assign(records.size(), Place::kDisk);
    DiskBytesLocked(chunk.node).fetch_sub(chunk.disk_bytes, std::memory_order_relaxed);
  }
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
  if (!by_row_.contains(row)) rows.read_to = std::max(rows.read_to, row);
  EndEarlierLocked(wanted.node);
  return GoneLocked(row, wanted.record_class, records);
}

GoneRow Ledger::Missing(const WantedRow& wanted) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Rows& rows = RowsOf(wanted.node, wanted.record_class);
  const auto it = rows.spilled.find(wanted.up_to);
  if (it != rows.spilled.end() && wanted.after == wanted.up_to - 1) {
    return GoneLocked(wanted.up_to, wanted.record_class, 0);
  }
  rows.exhausted = true;
  EndEarlierLocked(wanted.node);
  return {};
}

GoneRow Ledger::Removed(int64_t row, uint8_t record_class, int64_t records) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!by_row_.contains(row) && IsFreeLocked(row)) return {};
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
    sums_.stored[record_class] -= records;
    sums_.backlog[record_class] -= records;
    return {records, 0};
  }
  const uint64_t ticket = known->second;
  Chunk& chunk = chunks_[ticket];
  int64_t lost = 0;
  if (chunk.is_summary) {
    lost = chunk.disk_records;
    sums_.stored[chunk.record_class] -= lost;
    DiskBytesLocked(chunk.node).fetch_sub(chunk.disk_bytes, std::memory_order_relaxed);
  }
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
