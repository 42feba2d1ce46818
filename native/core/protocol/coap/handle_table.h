// A table that gives each value a handle that is never used again.
#ifndef SEGANET_CORE_PROTOCOL_COAP_HANDLE_TABLE_H_
#define SEGANET_CORE_PROTOCOL_COAP_HANDLE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/require.h"

namespace seganet::coap {

// Maps handles to values. A handle combines a place in memory, which is reused, with a turn, which
// is not: a stale handle finds nothing. Add() allocates only when all places are in
// use. A large table frees its memory when it becomes empty.
//
// Thread safety: none.
template <typename T>
class HandleTable {
 public:
  // Returns the handle, never 0. Invalidates references to other values.
  // REQUIRES: size() < 2^24.
  uint64_t Add(T value) {
    SEGANET_REQUIRE(size_ <= kPlaceMask);
    if (free_ == kNone) {
      free_ = static_cast<uint32_t>(places_.size());
      places_.emplace_back();
    }
    Place& place = places_[free_];
    place.handle = ++turn_ << kPlaceBits | free_;
    place.value = std::move(value);
    free_ = place.next_free;
    ++size_;
    return place.handle;
  }

  // Returns null when the handle was erased or never existed.
  T* Find(uint64_t handle) {
    const size_t at = handle & kPlaceMask;
    return handle != 0 && at < places_.size() && places_[at].handle == handle ? &places_[at].value
                                                                              : nullptr;
  }

  // No effect for an unknown handle.
  void Erase(uint64_t handle) {
    if (Find(handle) == nullptr) return;
    const auto at = static_cast<uint32_t>(handle & kPlaceMask);
    places_[at].handle = 0;
    places_[at].next_free = free_;
    free_ = at;
    if (--size_ == 0 && places_.size() > kKept) ReleaseIfEmpty();
  }

  // Frees the memory of an empty table. Its handles are still never used again.
  void ReleaseIfEmpty() {
    if (size_ > 0 || places_.empty()) return;
    std::vector<Place>().swap(places_);
    free_ = kNone;
  }

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  size_t memory_bytes() const { return places_.capacity() * sizeof(Place); }

 private:
  static constexpr uint32_t kNone = 0xFFFFFFFF;
  static constexpr int kPlaceBits = 24;
  static constexpr uint64_t kPlaceMask = (uint64_t{1} << kPlaceBits) - 1;
  static constexpr size_t kKept = 16;  // places that an empty table keeps; each stream has a table

  struct Place {
    uint64_t handle = 0;  // 0 = free
    uint32_t next_free = kNone;
    T value{};
  };

  std::vector<Place> places_;
  uint32_t free_ = kNone;
  uint64_t turn_ = 0;
  size_t size_ = 0;
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_HANDLE_TABLE_H_
