#include "tally.h"

namespace bench {
namespace {

constexpr size_t kMaxSeconds = 7200;  // of the arrivals' time line

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

// d/DEVICE/alarm for an alarm, else d/DEVICE/ and a word that tells the class ("t" by default).
bool IsRecordTopic(std::string_view topic, const Record& record) {
  const std::string front = "d/" + DeviceId(record.device) + "/";
  if (!topic.starts_with(front)) return false;
  topic.remove_prefix(front.size());
  if (record.kind == kAlarm) return topic == "alarm";
  return topic != "alarm" && ClassOfTopic(topic) != 0;
}

}  // namespace

void Tally::AddPublish(std::string_view topic, std::string_view payload, bool envelope,
                       bool redelivered, int64_t now_us) {
  ++publishes_;
  Delivery delivery{redelivered, kLive, now_us};
  const std::string& suffix = options_.history_suffix;
  if (!suffix.empty() && topic.ends_with(suffix)) {
    delivery.lane = kHistory;
    topic.remove_suffix(suffix.size());
  }
  if (!envelope) {
    delivery.record_class = ClassOfTopic(topic);
    AddRecord(topic, payload, delivery);
    return;
  }
  ++envelopes_;
  delivery.topic_class = ClassOfTopic(topic);
  batch_bytes_.Add(static_cast<int64_t>(payload.size()));
  while (!payload.empty()) {
    size_t end = payload.find('\n');
    if (end == std::string_view::npos) {
      ++bad_lines_;  // every record's line ends with a line feed
      break;
    }
    ++delivery.lines;
    AddLine(payload.substr(0, end), delivery);
    payload.remove_prefix(end + 1);
  }
  batch_records_.Add(delivery.lines);
  if (delivery.lines == 1) ++single_envelopes_;
  if (delivery.mixed) ++mixed_envelopes_;
}

// {"d":device,"t":topic,"ts":ms,"s":seq,"c":class,"p":payload}: the keys before "p" are found in
// that order, so that a payload with the same keys cannot be mistaken for them. The first line may
// start with the envelope's own key: {"k":key,"d":…
void Tally::AddLine(std::string_view line, Delivery& delivery) {
  const bool first = delivery.lines == 1;
  std::string_view key;
  bool bad_key = false;
  if (first) key = TakeKey(&line, &bad_key);
  if (first && key.empty() && !bad_key) ++keyless_envelopes_;
  size_t topic = line.find("\"t\":\"");
  size_t payload = line.find("\"p\":");
  int64_t record_class = 0;
  if (bad_key || !line.starts_with(key.empty() ? "{\"d\":\"" : "\"d\":\"") ||
      !line.ends_with('}') || topic == std::string_view::npos ||
      payload == std::string_view::npos || topic > payload ||
      !FindNumber(line.substr(topic, payload - topic), "\"c\":", &record_class)) {
    ++bad_lines_;
    return;
  }
  if (!key.empty()) {
    if (!IsKey(key, static_cast<int>(record_class))) ++bad_keys_;
    delivery.old_key = !keys_.Add(key);
    if (delivery.old_key && !delivery.redelivered) ++repeated_keys_;
  }
  if (delivery.first_class == 0) delivery.first_class = static_cast<int>(record_class);
  if (delivery.first_class != record_class) delivery.mixed = true;
  if (delivery.topic_class != 0 && delivery.topic_class != record_class) ++class_mismatches_;
  delivery.record_class =
      delivery.topic_class != 0 ? delivery.topic_class : static_cast<int>(record_class);
  topic += 5;
  size_t topic_end = line.find('"', topic);
  AddRecord(line.substr(topic, topic_end - topic),
            line.substr(payload + 4, line.size() - payload - 5), delivery);
}

void Tally::AddRecord(std::string_view topic, std::string_view payload, const Delivery& delivery) {
  ++records_;
  Record record;
  if (!ParsePayload(payload, &record)) {
    ++bad_records_;
    return;
  }
  if (!IsRecordTopic(topic, record)) ++topic_mismatches_;
  const bool has_class = delivery.record_class >= 1 && delivery.record_class <= kClasses;
  Classes::Counts* counts = has_class ? &classes_.of(delivery.record_class) : nullptr;
  if (counts != nullptr) ++counts->records;
  size_t index = size_t{record.device} * 2 + record.kind;
  if (index >= streams_.size()) streams_.resize(index + 1);
  Stream::Arrival arrival = streams_[index].Add(record.seq, delivery.lane);
  if (arrival == Stream::Arrival::kDuplicate) {
    ++(delivery.redelivered ? redelivered_ : duplicates_);
    if (counts != nullptr && !delivery.redelivered) ++counts->duplicates;
    if (delivery.old_key && !delivery.redelivered) ++duplicates_same_key_;
    return;
  }
  if (arrival == Stream::Arrival::kOutOfOrder) {
    ++out_of_order_;
    if (counts != nullptr) ++counts->out_of_order;
  }
  // A receiver that drops what has a known key would lose this one.
  if (delivery.old_key) ++new_under_old_key_;
  AddFirst(record, payload.size(), delivery);
}

void Tally::AddFirst(const Record& record, size_t bytes, const Delivery& delivery) {
  const int64_t now_us = delivery.now_us;
  const Lane lane = delivery.lane;
  if (unique_++ == 0) {
    first_intended_us_ = record.intended_us;
    first_arrival_us_ = now_us;
  }
  last_arrival_us_ = now_us;
  if (lane == kHistory) {
    ++historical_;
    last_historical_us_ = now_us;
  }
  const bool counts_latency = record.intended_us >= first_intended_us_ + options_.skip_us;
  if (counts_latency) latency_[record.kind][lane].Add(now_us - record.intended_us);
  if (delivery.record_class >= 1 && delivery.record_class <= kClasses) {
    Classes::Counts& counts = classes_.of(delivery.record_class);
    ++counts.unique;
    counts.bytes += bytes;
    if (lane == kHistory) ++counts.historical;
    if (counts_latency) counts.latency[lane].Add(now_us - record.intended_us);
  }
  if (options_.samples != nullptr &&
      (record.kind == kAlarm || record.seq % options_.sample_every == 0)) {
    std::fprintf(options_.samples, "%u %lld %lld %u %d %zu %u\n", record.kind,
                 static_cast<long long>(record.intended_us), static_cast<long long>(now_us), lane,
                 delivery.record_class, bytes, record.device);
  }
  size_t second = static_cast<size_t>((now_us - first_arrival_us_) / 1000000);
  if (second >= kMaxSeconds) return;
  for (std::vector<uint64_t>& arrivals : arrivals_) {
    if (second >= arrivals.size()) arrivals.resize(second + 1, 0);
  }
  ++arrivals_[lane][second];
}

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
    out.append("\"normal\":").append(latency_[kNormal][lane].Json());
    out.append(",\"alarm\":").append(latency_[kAlarm][lane].Json()).append("}");
  }
  std::vector<uint64_t> all = arrivals_[kLive];
  for (size_t i = 0; i < all.size(); ++i) all[i] += arrivals_[kHistory][i];
  out.append(",\"classes\":").append(classes_.Json());
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
    out.append("{\"device\":").append(std::to_string(i / 2));
    out.append(",\"kind\":").append(std::to_string(i % 2));
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
