#ifndef SEGANET_BENCH_LOADGEN_FLIGHTS_H_
#define SEGANET_BENCH_LOADGEN_FLIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench {

// A message in flight.
struct Flight {
  int64_t intended_us;
  int64_t sent_us;  // time of the first write
  uint32_t seq;
  uint32_t bytes;  // of the payload
  uint8_t kind;
  bool acked;
};

// The in-flight messages of one device in the order of sending. Packet identifiers are assigned in
// that order, cycling through 1 to 65535, so a subtraction finds the position of one.
class Flights {
 public:
  size_t size() const { return size_; }
  Flight& operator[](size_t i) { return ring_[(head_ + i) & (ring_.size() - 1)]; }
  const Flight& operator[](size_t i) const { return ring_[(head_ + i) & (ring_.size() - 1)]; }
  uint16_t IdOf(size_t i) const { return static_cast<uint16_t>((first_ + i) % kIds + 1); }

  // Returns the index of the message with this identifier, size() if there is none.
  size_t Find(uint16_t id) const {
    if (id == 0) return size_;
    const size_t i = (size_t{id} - 1 + kIds - first_) % kIds;
    return i < size_ ? i : size_;
  }

  // REQUIRES: size() < kIds.
  void Push(const Flight& flight) {
    if (size_ == ring_.size()) Grow();
    ++size_;
    (*this)[size_ - 1] = flight;
  }

  // Removes acknowledged messages at the front.
  void Drop() {
    while (size_ > 0 && ring_[head_].acked) {
      head_ = (head_ + 1) & (ring_.size() - 1);
      first_ = (first_ + 1) % kIds;
      --size_;
    }
  }

 private:
  static constexpr size_t kIds = 65535;

  void Grow() {
    std::vector<Flight> more(ring_.empty() ? 8 : ring_.size() * 2);
    for (size_t i = 0; i < size_; ++i) more[i] = (*this)[i];
    ring_.swap(more);
    head_ = 0;
  }

  std::vector<Flight> ring_;  // its size is a power of two
  size_t head_ = 0;
  size_t size_ = 0;
  size_t first_ = 0;  // identifier of the first one, minus 1
};

}  // namespace bench

#endif  // SEGANET_BENCH_LOADGEN_FLIGHTS_H_
