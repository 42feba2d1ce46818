#ifndef SEGANET_BENCH_SINK_TALLY_H_
#define SEGANET_BENCH_SINK_TALLY_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "../common/histogram.h"
#include "../common/record.h"

namespace bench {

// What arrived of one stream (device and kind): the truth about loss, repetition and order.
//
// A record is out of order when it arrives for the first time after a later one of its stream did;
// one that arrives again is a duplicate, wherever it stands.
class Stream {
 public:
  enum class Arrival { kInOrder, kOutOfOrder, kDuplicate };

  Arrival Add(uint32_t seq) {
    size_t word = seq / 64;
    if (word >= seen_.size()) seen_.resize(word + 1, 0);
    uint64_t bit = uint64_t{1} << (seq % 64);
    if ((seen_[word] & bit) != 0) return Arrival::kDuplicate;
    seen_[word] |= bit;
    ++unique_;
    if (seq < next_) return Arrival::kOutOfOrder;
    next_ = seq + 1;
    return Arrival::kInOrder;
  }

  uint32_t next() const { return next_; }  // highest sequence that arrived + 1
  uint32_t unique() const { return unique_; }
  bool Has(uint32_t seq) const {
    return seq / 64 < seen_.size() && (seen_[seq / 64] >> (seq % 64) & 1) != 0;
  }

 private:
  std::vector<uint64_t> seen_;
  uint32_t next_ = 0;
  uint32_t unique_ = 0;
};

// Everything that the sink counts. Fed with whole PUBLISH packets.
class Tally {
 public:
  // Latency is counted for records intended at least `skip_us` after the first one.
  explicit Tally(int64_t skip_us) : skip_us_(skip_us) {}

  // `envelope`: an NDJSON batch; else one original payload. `redelivered`: the cloud's own
  // repetition (DUP from the broker to the sink), which is no fault of the gateway.
  void AddPublish(std::string_view topic, std::string_view payload, bool envelope, bool redelivered,
                  int64_t now_us);

  uint64_t records() const { return records_; }
  uint64_t unique() const { return unique_; }

  // One JSON object; `streams` adds the missing sequences of each stream as [from, to] ranges.
  std::string Json(bool streams) const;

 private:
  void AddLine(std::string_view line, int64_t now_us, bool redelivered, int* first_class,
               bool* mixed);
  void AddRecord(std::string_view topic, std::string_view payload, bool redelivered,
                 int64_t now_us);

  int64_t skip_us_;
  int64_t first_intended_us_ = 0;
  int64_t first_arrival_us_ = 0;
  std::vector<Stream> streams_;  // device * 2 + kind
  std::vector<uint64_t> arrivals_;
  Histogram latency_[2];
  Histogram batch_records_;
  Histogram batch_bytes_;
  uint64_t publishes_ = 0;
  uint64_t envelopes_ = 0;
  uint64_t single_envelopes_ = 0;
  uint64_t mixed_envelopes_ = 0;
  uint64_t records_ = 0;
  uint64_t unique_ = 0;
  uint64_t duplicates_ = 0;
  uint64_t redelivered_ = 0;
  uint64_t out_of_order_ = 0;
  uint64_t bad_lines_ = 0;
  uint64_t bad_records_ = 0;
  uint64_t topic_mismatches_ = 0;
};

}  // namespace bench

#endif  // SEGANET_BENCH_SINK_TALLY_H_
