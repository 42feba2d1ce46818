// A bounded ring of byte entries between one writing and one reading thread.
//
// Entries are contiguous: an entry that does not fit before the end of the buffer is stored at its
// beginning, and a wrap mark takes its place. Each side keeps a copy of the other side's index, and
// reads the shared index only if the copy means full or empty (rigtorp/SPSCQueue). In steady state,
// the two cores therefore exchange no cache line for an index.
#ifndef SEGANET_CORE_QUEUE_BYTE_RING_H_
#define SEGANET_CORE_QUEUE_BYTE_RING_H_

#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "core/base/require.h"

namespace seganet {

// Thread safety: Reserve/Commit by the writer only, Front/Pop by the reader only, used() by any.
class ByteRing {
 public:
  // Rounds the capacity, in bytes, up to a power of two, at least 4 KiB.
  explicit ByteRing(size_t min_capacity)
      : capacity_(std::bit_ceil(min_capacity < 4096 ? size_t{4096} : min_capacity)),
        buffer_(new char[capacity_ + kHeader]) {}
  ByteRing(const ByteRing&) = delete;
  ByteRing& operator=(const ByteRing&) = delete;

  // Returns the largest entry that always fits into an empty ring, in bytes.
  size_t max_entry() const { return capacity_ / 2 - kHeader; }
  size_t capacity() const { return capacity_; }

  // Returns 8-aligned room for `bytes`, or nullptr if the ring is too full. The reader sees nothing
  // before Commit. A second Reserve before Commit replaces the first.
  char* Reserve(size_t bytes) {
    const uint64_t need = Footprint(bytes);
    if (bytes > max_entry()) return nullptr;
    uint64_t at = write_.load(std::memory_order_relaxed);
    const uint64_t to_end = capacity_ - (at & (capacity_ - 1));
    const uint64_t skip = to_end < need ? to_end : 0;
    if (at + skip + need - cached_read_ > capacity_) {
      // Acquire: the reader has finished with the bytes that it released.
      cached_read_ = read_.load(std::memory_order_acquire);
      if (at + skip + need - cached_read_ > capacity_) return nullptr;
    }
    if (skip > 0) {
      PutLength(at, kWrap);
      at += skip;
    }
    PutLength(at, bytes);
    reserved_end_ = at + need;
    return At(at) + kHeader;
  }

  // Publishes the reserved entry. REQUIRES: Reserve succeeded since the last Commit.
  void Commit() {
    SEGANET_REQUIRE(reserved_end_ != write_.load(std::memory_order_relaxed));
    // Release: the entry's bytes are visible before the index is.
    write_.store(reserved_end_, std::memory_order_release);
  }

  // Returns the oldest entry, or a view with data() == nullptr if there is none. Valid until Pop.
  std::string_view Front() {
    uint64_t at = read_.load(std::memory_order_relaxed);
    if (at == cached_write_) {
      cached_write_ = write_.load(std::memory_order_acquire);
      if (at == cached_write_) return {};
    }
    uint64_t length = Length(at);
    if (length == kWrap) {
      at += capacity_ - (at & (capacity_ - 1));
      length = Length(at);
    }
    front_end_ = at + Footprint(length);
    return {At(at) + kHeader, static_cast<size_t>(length)};
  }

  // Removes the oldest entry. REQUIRES: Front returned an entry since the last Pop.
  void Pop() {
    SEGANET_REQUIRE(front_end_ != read_.load(std::memory_order_relaxed));
    read_.store(front_end_, std::memory_order_release);
  }

  // Returns the number of bytes in use, including marks and padding.
  size_t used() const {
    const uint64_t read = read_.load(std::memory_order_acquire);
    return static_cast<size_t>(write_.load(std::memory_order_acquire) - read);
  }

 private:
  static constexpr size_t kHeader = 8;
  static constexpr uint64_t kWrap = ~uint64_t{0};

  static uint64_t Footprint(uint64_t bytes) { return (kHeader + bytes + 7) & ~uint64_t{7}; }
  char* At(uint64_t at) { return buffer_.get() + (at & (capacity_ - 1)); }
  void PutLength(uint64_t at, uint64_t length) { std::memcpy(At(at), &length, kHeader); }
  uint64_t Length(uint64_t at) {
    uint64_t length;
    std::memcpy(&length, At(at), kHeader);
    return length;
  }

  const size_t capacity_;
  const std::unique_ptr<char[]> buffer_;
  alignas(64) std::atomic<uint64_t> write_{0};  // only increases; position = index mod capacity
  uint64_t reserved_end_ = 0;
  uint64_t cached_read_ = 0;
  alignas(64) std::atomic<uint64_t> read_{0};
  uint64_t front_end_ = 0;
  uint64_t cached_write_ = 0;
};

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_BYTE_RING_H_
