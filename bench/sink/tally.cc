#include "tally.h"

namespace bench {
namespace {

constexpr size_t kMaxSeconds = 7200;  // of the arrivals' time line

void Field(std::string& out, const char* name, uint64_t value) {
  out.append("\"").append(name).append("\":").append(std::to_string(value)).append(",");
}

}  // namespace

void Tally::AddPublish(std::string_view topic, std::string_view payload, bool envelope,
                       bool redelivered, int64_t now_us) {
  ++publishes_;
  if (!envelope) {
    AddRecord(topic, payload, redelivered, now_us);
    return;
  }
  ++envelopes_;
  batch_bytes_.Add(static_cast<int64_t>(payload.size()));
  int first_class = 0;
  bool mixed = false;
  int64_t lines = 0;
  while (!payload.empty()) {
    size_t end = payload.find('\n');
    if (end == std::string_view::npos) {
      ++bad_lines_;  // every record's line ends with a line feed
      break;
    }
    ++lines;
    AddLine(payload.substr(0, end), now_us, redelivered, &first_class, &mixed);
    payload.remove_prefix(end + 1);
  }
  batch_records_.Add(lines);
  if (lines == 1) ++single_envelopes_;
  if (mixed) ++mixed_envelopes_;
}

// {"d":device,"t":topic,"ts":ms,"s":seq,"c":class,"p":payload}: the keys before "p" are found in
// that order, so that a payload with the same keys cannot be mistaken for them.
void Tally::AddLine(std::string_view line, int64_t now_us, bool redelivered, int* first_class,
                    bool* mixed) {
  size_t topic = line.find("\"t\":\"");
  size_t payload = line.find("\"p\":");
  int64_t record_class = 0;
  if (!line.starts_with("{\"d\":\"") || !line.ends_with('}') || topic == std::string_view::npos ||
      payload == std::string_view::npos || topic > payload ||
      !FindNumber(line.substr(topic, payload - topic), "\"c\":", &record_class)) {
    ++bad_lines_;
    return;
  }
  if (*first_class == 0) *first_class = static_cast<int>(record_class);
  if (*first_class != record_class) *mixed = true;
  topic += 5;
  size_t topic_end = line.find('"', topic);
  AddRecord(line.substr(topic, topic_end - topic),
            line.substr(payload + 4, line.size() - payload - 5), redelivered, now_us);
}

void Tally::AddRecord(std::string_view topic, std::string_view payload, bool redelivered,
                      int64_t now_us) {
  ++records_;
  Record record;
  if (!ParsePayload(payload, &record)) {
    ++bad_records_;
    return;
  }
  if (topic != "d/" + DeviceId(record.device) + (record.kind == kAlarm ? "/alarm" : "/t")) {
    ++topic_mismatches_;
  }
  size_t index = size_t{record.device} * 2 + record.kind;
  if (index >= streams_.size()) streams_.resize(index + 1);
  Stream::Arrival arrival = streams_[index].Add(record.seq);
  if (arrival == Stream::Arrival::kDuplicate) {
    ++(redelivered ? redelivered_ : duplicates_);
    return;
  }
  if (arrival == Stream::Arrival::kOutOfOrder) ++out_of_order_;
  if (unique_++ == 0) {
    first_intended_us_ = record.intended_us;
    first_arrival_us_ = now_us;
  }
  if (record.intended_us >= first_intended_us_ + skip_us_) {
    latency_[record.kind].Add(now_us - record.intended_us);
  }
  size_t second = static_cast<size_t>((now_us - first_arrival_us_) / 1000000);
  if (second < kMaxSeconds) {
    if (second >= arrivals_.size()) arrivals_.resize(second + 1, 0);
    ++arrivals_[second];
  }
}

std::string Tally::Json(bool streams) const {
  std::string out = "{";
  Field(out, "publishes", publishes_);
  Field(out, "records", records_);
  Field(out, "unique", unique_);
  Field(out, "duplicates", duplicates_);
  Field(out, "redelivered", redelivered_);
  Field(out, "outOfOrder", out_of_order_);
  Field(out, "badLines", bad_lines_);
  Field(out, "badRecords", bad_records_);
  Field(out, "topicMismatches", topic_mismatches_);
  Field(out, "envelopes", envelopes_);
  Field(out, "singleEnvelopes", single_envelopes_);
  Field(out, "mixedEnvelopes", mixed_envelopes_);
  out.append("\"batchRecords\":").append(batch_records_.Json());
  out.append(",\"batchBytes\":").append(batch_bytes_.Json());
  out.append(",\"latencyUs\":{\"normal\":").append(latency_[kNormal].Json());
  out.append(",\"alarm\":").append(latency_[kAlarm].Json()).append("},\"arrivalsPerSecond\":[");
  for (size_t i = 0; i < arrivals_.size(); ++i) {
    if (i > 0) out.push_back(',');
    out.append(std::to_string(arrivals_[i]));
  }
  out.push_back(']');
  if (streams) {
    out.append(",\"streams\":[");
    bool first = true;
    for (size_t i = 0; i < streams_.size(); ++i) {
      const Stream& stream = streams_[i];
      if (stream.next() == 0) continue;
      if (!first) out.push_back(',');
      first = false;
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
    out.push_back(']');
  }
  return out + "}";
}

}  // namespace bench
