#include "tally.h"

namespace bench {
namespace {

void Field(std::string& out, const char* name, uint64_t value) {
  out.append("\"").append(name).append("\":").append(std::to_string(value)).append(",");
}

std::string List(const std::vector<uint64_t>& values) {
  std::string out = "[";
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out.push_back(',');
    out.append(std::to_string(values[i]));
  }
  return out + "]";
}

}  // namespace

std::string Tally::Json(bool streams) const {
  std::string out = "{";
  Field(out, "publishes", publishes_);
  Field(out, "records", records_);
  Field(out, "unique", unique_);
  Field(out, "historical", historical_);
  Field(out, "duplicates", duplicates_);
  Field(out, "duplicatesSameKey", duplicates_same_key_);
  Field(out, "redelivered", redelivered_);
  Field(out, "outOfOrder", out_of_order_);
  Field(out, "badLines", bad_lines_);
  Field(out, "badRecords", bad_records_);
  Field(out, "topicMismatches", topic_mismatches_);
  Field(out, "classMismatches", class_mismatches_);
  Field(out, "envelopes", envelopes_);
  Field(out, "singleEnvelopes", single_envelopes_);
  Field(out, "mixedEnvelopes", mixed_envelopes_);
  Field(out, "joined", joined_);
  Field(out, "keys", keys_.size());
  Field(out, "keylessEnvelopes", keyless_envelopes_);
  Field(out, "badKeys", bad_keys_);
  Field(out, "repeatedKeys", repeated_keys_);
  Field(out, "newUnderOldKey", new_under_old_key_);
  Field(out, "firstArrivalUs", static_cast<uint64_t>(first_arrival_us_));
  Field(out, "lastArrivalUs", static_cast<uint64_t>(last_arrival_us_));
  Field(out, "lastHistoricalUs", static_cast<uint64_t>(last_historical_us_));
  out.append("\"batchRecords\":").append(batch_records_.Json());
  out.append(",\"batchBytes\":").append(batch_bytes_.Json());
  for (Lane lane : {kLive, kHistory}) {
    out.append(lane == kLive ? ",\"latencyUs\":{" : ",\"historicalLatencyUs\":{");
    for (size_t kind = 0; kind < kKinds; ++kind) {
      out.append(kind > 0 ? ",\"" : "\"").append(kNameOfKind[kind]).append("\":");
      out.append(latency_[kind][lane].Json(options_.histograms));
    }
    out.push_back('}');
  }
  if (steps_.any()) out.append(",\"steps\":").append(steps_.Json(options_.histograms));
  std::vector<uint64_t> all = arrivals_[kLive];
  for (size_t i = 0; i < all.size(); ++i) all[i] += arrivals_[kHistory][i];
  out.append(",\"classes\":").append(classes_.Json(options_.histograms));
  out.append(",\"arrivalsPerSecond\":").append(List(all));
  out.append(",\"historicalPerSecond\":").append(List(arrivals_[kHistory]));
  if (streams) out.append(",\"streams\":").append(StreamsJson());
  return out + "}";
}

std::string Tally::StreamsJson() const {
  std::string out = "[";
  for (size_t i = 0; i < streams_.size(); ++i) {
    const Stream& stream = streams_[i];
    if (stream.next() == 0) continue;
    if (out.size() > 1) out.push_back(',');
    out.append("{\"device\":").append(std::to_string(i / kKinds));
    out.append(",\"kind\":").append(std::to_string(i % kKinds));
    out.append(",\"next\":").append(std::to_string(stream.next())).append(",\"missing\":[");
    bool first_range = true;
    for (uint32_t seq = 0; seq < stream.next() && stream.unique() < stream.next(); ++seq) {
      if (stream.Has(seq)) continue;
      uint32_t from = seq;
      while (seq + 1 < stream.next() && !stream.Has(seq + 1)) ++seq;
      if (!first_range) out.push_back(',');
      first_range = false;
      out.append("[" + std::to_string(from) + "," + std::to_string(seq) + "]");
    }
    out.append("]}");
  }
  return out + "]";
}

}  // namespace bench
