#ifndef SEGANET_BENCH_SINK_STREAM_H_
#define SEGANET_BENCH_SINK_STREAM_H_

#include <cstdint>

#include "seq_set.h"

namespace bench {

// The gateway guarantees order by device, class and lane: live data overtakes the backlog on
// purpose.
enum Lane : uint8_t { kLive = 0, kHistory = 1 };

// The arrivals of one stream (device and kind): determines loss, repetition and order.
//
// A record is out of order if it arrives for the first time after a later one of its stream and
// lane. A record that arrives again is a duplicate, at any position.
class Stream {
 public:
  enum class Arrival { kInOrder, kOutOfOrder, kDuplicate };

  Arrival Add(uint32_t seq, Lane lane) {
    if (!seen_.Add(seq)) return Arrival::kDuplicate;
    if (seq < next_[lane]) return Arrival::kOutOfOrder;
    next_[lane] = seq + 1;
    return Arrival::kInOrder;
  }

  // Highest sequence that has arrived, plus 1.
  uint32_t next() const { return seen_.next(); }
  uint32_t unique() const { return seen_.size(); }
  bool Has(uint32_t seq) const { return seen_.Has(seq); }

 private:
  SeqSet seen_;
  uint32_t next_[2] = {0, 0};
};

}  // namespace bench

#endif  // SEGANET_BENCH_SINK_STREAM_H_
