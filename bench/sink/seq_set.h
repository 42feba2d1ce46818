#ifndef SEGANET_BENCH_SINK_SEQ_SET_H_
#define SEGANET_BENCH_SINK_SEQ_SET_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench {

// The sequence numbers that have arrived. Numbers in order cost no memory; from the first open gap
// on, each costs a bit.
class SeqSet {
 public:
  // Adds a number. Returns true if it is new.
  bool Add(uint32_t seq) {
    if (seq == done_ && bits_.empty()) {
      next_ = ++done_;
      ++size_;
      return true;
    }
    return AddBit(seq);
  }

  bool Has(uint32_t seq) const {
    if (seq < done_) return true;
    if (seq >= next_) return false;
    return (bits_[seq / 64 - done_ / 64] >> (seq % 64) & 1) != 0;
  }

  uint32_t next() const { return next_; }  // the highest + 1
  uint32_t size() const { return size_; }

 private:
  bool AddBit(uint32_t seq) {
    if (Has(seq)) return false;
    const size_t word = seq / 64 - done_ / 64;
    if (word >= bits_.size()) bits_.resize(word + 1, 0);
    bits_[word] |= uint64_t{1} << (seq % 64);
    next_ = std::max(next_, seq + 1);
    if (++size_ == next_) {
      done_ = next_;
      bits_.clear();
    }
    return true;
  }

  uint32_t done_ = 0;  // all smaller numbers have arrived
  uint32_t next_ = 0;
  uint32_t size_ = 0;
  std::vector<uint64_t> bits_;  // from the word of done_ on; empty when done_ == next_
};

}  // namespace bench

#endif  // SEGANET_BENCH_SINK_SEQ_SET_H_
