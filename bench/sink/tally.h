#ifndef SEGANET_BENCH_SINK_TALLY_H_
#define SEGANET_BENCH_SINK_TALLY_H_

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "../common/histogram.h"
#include "../common/record.h"
#include "classes.h"
#include "keys.h"
#include "steps.h"
#include "stream.h"

namespace bench {

struct TallyOptions {
  int64_t skip_us = 0;  // latency counts for records intended at least this long after the first
  std::string history_suffix;  // suffix of the backlog's topics; empty = none
  // Every alarm and some normal records: kind intended arrived lane class bytes (of the payload).
  std::FILE* samples = nullptr;
  uint32_t sample_every = 100;  // every n-th normal record of a device
  int64_t step_us = 0;          // length of a step of the load; 0 = no steps
  bool histograms = false;      // in the JSON
};

// The counters of the sink. Receives complete PUBLISH packets.
class Tally {
 public:
  explicit Tally(const TallyOptions& options) : options_(options), steps_(options.step_us) {}

  // Counts a PUBLISH. `envelope`: an NDJSON batch; else one original payload, or several joined
  // (split.h). `redelivered`: the cloud's own redelivery (DUP from the broker to the sink), which
  // is not a fault of the gateway.
  void AddPublish(std::string_view topic, std::string_view payload, bool envelope, bool redelivered,
                  int64_t now_us);

  uint64_t records() const { return records_; }
  uint64_t unique() const { return unique_; }
  uint64_t historical() const { return historical_; }

  // Returns a JSON object. `streams` adds the missing sequences of each stream as [from, to]
  // ranges.
  std::string Json(bool streams) const;

 private:
  // The properties of one PUBLISH.
  struct Delivery {
    bool redelivered;
    Lane lane;
    int64_t now_us;
    bool old_key = false;  // its key has arrived before
    int lines = 0;
    int topic_class = 0;   // class in the envelope's topic; 0 = none
    int record_class = 0;  // of the current record
    int first_class = 0;
    bool mixed = false;
  };

  void AddOwn(std::string_view topic, std::string_view payload, Delivery& delivery);
  void AddLine(std::string_view line, Delivery& delivery);
  // `topic` is empty if the record has no topic of its own.
  void AddRecord(std::string_view topic, std::string_view payload, Delivery delivery);
  void AddFirst(const Record& record, size_t bytes, const Delivery& delivery);
  std::string StreamsJson() const;

  const TallyOptions options_;
  int64_t first_intended_us_ = 0;
  int64_t first_arrival_us_ = 0;
  int64_t last_arrival_us_ = 0;
  int64_t last_historical_us_ = 0;
  std::vector<Stream> streams_;  // device * kKinds + kind
  std::vector<uint64_t> arrivals_[2];
  Histogram latency_[kKinds][2];  // kind, lane
  Steps steps_;
  Histogram batch_records_;
  Histogram batch_bytes_;
  Classes classes_;
  KeySet keys_;
  uint64_t publishes_ = 0;
  uint64_t envelopes_ = 0;
  uint64_t single_envelopes_ = 0;
  uint64_t mixed_envelopes_ = 0;
  uint64_t joined_ = 0;
  uint64_t keyless_envelopes_ = 0;
  uint64_t bad_keys_ = 0;
  uint64_t repeated_keys_ = 0;
  uint64_t records_ = 0;
  uint64_t unique_ = 0;
  uint64_t historical_ = 0;
  uint64_t duplicates_ = 0;
  uint64_t duplicates_same_key_ = 0;
  uint64_t new_under_old_key_ = 0;
  uint64_t redelivered_ = 0;
  uint64_t out_of_order_ = 0;
  uint64_t bad_lines_ = 0;
  uint64_t bad_records_ = 0;
  uint64_t topic_mismatches_ = 0;
  uint64_t class_mismatches_ = 0;
};

}  // namespace bench

#endif  // SEGANET_BENCH_SINK_TALLY_H_
