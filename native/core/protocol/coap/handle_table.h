#ifndef SEGANET_CORE_PROTOCOL_COAP_HANDLE_TABLE_H_
#define SEGANET_CORE_PROTOCOL_COAP_HANDLE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace seganet::coap {

// Values by a number that is never given twice: a place in memory, which is used again, and a turn.
// Nothing is allocated once there were as many values before. Memory goes back when the last of
// many is gone.
//
// Thread safety: none.
template <typename T>
class Slots {
 public:
  // The number, never 0. References to other values end here. REQUIRES: size() < 2^24.
  uint64_t Add(T value) {
    if (free_ == kNone) {
      free_ = static_cast<uint32_t>(places_.size());
      places_.emplace_back();
    }
    Place& place = places_[free_];
    place.slot = ++turn_ << kPlaceBits | free_;
    place.value = std::move(value);
    free_ = place.next_free;
    ++size_;
    return place.slot;
  }

  // Null when it was erased, or never there.
  T* Find(uint64_t slot) {
    const size_t at = slot & kPlaceMask;
    return slot != 0 && at < places_.size() && places_[at].slot == slot ? &places_[at].value
                                                                        : nullptr;
  }

  void Erase(uint64_t slot) {
    if (Find(slot) == nullptr) return;
    const auto at = static_cast<uint32_t>(slot & kPlaceMask);
    places_[at].slot = 0;
    places_[at].next_free = free_;
    free_ = at;
    if (--size_ > 0 || places_.size() <= kKept) return;
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
  static constexpr size_t kKept = 16;  // places of an empty table: a stream has a table of its own

  struct Place {
    uint64_t slot = 0;  // 0 = free
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
