#include "tally.h"

#include "../common/base64.h"
#include "split.h"

namespace bench {
namespace {

constexpr size_t kMaxSeconds = 7200;  // of the arrivals' time line

// True if the topic is d/DEVICE/ followed by the level of the record's kind. For a normal record it
// may be the level of any class, except "alarm", or the topic ps/DEVICE.
bool IsRecordTopic(std::string_view topic, const Record& record) {
  if (topic.starts_with("ps/")) {
    char device[9];
    WriteDevice(device, record.device);
    return record.kind == kNormal && topic.substr(3) == std::string_view(device, sizeof device);
  }
  char front[12];
  *WriteDevice(WriteText(front, "d/"), record.device) = '/';
  if (!topic.starts_with(std::string_view(front, sizeof front))) return false;
  topic.remove_prefix(sizeof front);
  if (record.kind != kNormal) return topic == kLevelOfKind[record.kind];
  return topic != kLevelOfKind[kAlarm] && ClassOfTopic(topic) != 0;
}

// {"d":device,"t":topic,"ts":ms,"s":seq,"c":class,"p":payload}, or "b":"base64" for a payload that
// is not JSON.
struct Line {
  std::string_view topic;
  std::string_view payload;
  int64_t record_class = 0;
  bool base64 = false;
};

// Parses a line. It searches the keys before "p" in this order, so that the same keys in a payload
// cannot match. `keyed`: TakeKey() has removed the first key and the brace.
bool ParseLine(std::string_view text, bool keyed, Line* line) {
  if (!text.starts_with(keyed ? "\"d\":\"" : "{\"d\":\"") || !text.ends_with('}')) return false;
  size_t topic = text.find("\"t\":\"");
  if (topic == std::string_view::npos) return false;
  topic += 5;
  const size_t topic_end = text.find('"', topic);
  if (topic_end == std::string_view::npos) return false;
  line->topic = text.substr(topic, topic_end - topic);
  // Tries the gateway's order of fields first, then any order.
  const char* at = text.data() + topic_end;
  const char* const end = text.data() + text.size();
  int64_t ignored = 0;
  size_t payload = std::string_view::npos;
  if (TakeNumber(&at, end, "\",\"ts\":", &ignored) && TakeNumber(&at, end, ",\"s\":", &ignored) &&
      TakeNumber(&at, end, ",\"c\":", &line->record_class) &&
      std::string_view(at, end).starts_with(",\"p\":")) {
    payload = static_cast<size_t>(at - text.data()) + 1;
  } else if (std::string_view(at, end).starts_with(",\"b\":\"") && text.ends_with("\"}")) {
    constexpr size_t kKey = 6;  // of ,"b":"
    line->base64 = true;
    line->payload = std::string_view(at + kKey, static_cast<size_t>(end - at) - kKey - 2);
    return true;
  } else {
    payload = text.find("\"p\":", topic_end);
    if (payload == std::string_view::npos ||
        !FindNumber(text.substr(topic_end, payload - topic_end), "\"c\":", &line->record_class)) {
      return false;
    }
  }
  line->payload = text.substr(payload + 4, text.size() - payload - 5);
  return true;
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
    AddOwn(topic, payload, delivery);
    return;
  }
  ++envelopes_;
  delivery.topic_class = ClassOfTopic(topic);
  batch_bytes_.Add(static_cast<int64_t>(payload.size()));
  while (!payload.empty()) {
    size_t end = payload.find('\n');
    if (end == std::string_view::npos) {
      ++bad_lines_;  // each record's line ends with a line feed
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

// Counts a payload that is not an envelope: a record under its own topic, or records joined by a
// peer.
void Tally::AddOwn(std::string_view topic, std::string_view payload, Delivery& delivery) {
  delivery.record_class = ClassOfTopic(topic);
  if (!IsJoined(payload)) {
    AddRecord(topic.starts_with("d/") ? topic : std::string_view(), payload, delivery);
    return;
  }
  ++joined_;
  bad_lines_ += SplitJoined(payload, [&](std::string_view record) {
    ++delivery.lines;
    AddRecord({}, record, delivery);
  });
  batch_bytes_.Add(static_cast<int64_t>(payload.size()));
  batch_records_.Add(delivery.lines);
}

// The first line may start with the envelope's own key: {"k":key,"d":…
void Tally::AddLine(std::string_view text, Delivery& delivery) {
  const bool first = delivery.lines == 1;
  std::string_view key;
  bool bad_key = false;
  if (first) key = TakeKey(&text, &bad_key);
  if (first && key.empty() && !bad_key) ++keyless_envelopes_;
  Line line;
  if (bad_key || !ParseLine(text, !key.empty(), &line)) {
    ++bad_lines_;
    return;
  }
  const int record_class = static_cast<int>(line.record_class);
  if (!key.empty()) {
    if (!IsKey(key, record_class)) ++bad_keys_;
    delivery.old_key = !keys_.Add(key);
    if (delivery.old_key && !delivery.redelivered) ++repeated_keys_;
  }
  if (delivery.first_class == 0) delivery.first_class = record_class;
  if (delivery.first_class != record_class) delivery.mixed = true;
  if (delivery.topic_class != 0 && delivery.topic_class != record_class) ++class_mismatches_;
  delivery.record_class = delivery.topic_class != 0 ? delivery.topic_class : record_class;
  std::string decoded;
  if (line.base64 && !DecodeBase64(line.payload, &decoded)) {
    ++bad_lines_;
    return;
  }
  AddRecord(line.topic, line.base64 ? decoded : line.payload, delivery);
}

void Tally::AddRecord(std::string_view topic, std::string_view payload, Delivery delivery) {
  ++records_;
  Record record;
  if (!ParsePayload(payload, &record)) {
    ++bad_records_;
    return;
  }
  if (topic.empty()) {
    if (delivery.record_class == 0) delivery.record_class = kClassOfKind[record.kind];
  } else if (!IsRecordTopic(topic, record)) {
    ++topic_mismatches_;
  }
  const bool has_class = delivery.record_class >= 1 && delivery.record_class <= kClasses;
  Classes::Counts* counts = has_class ? &classes_.of(delivery.record_class) : nullptr;
  if (counts != nullptr) ++counts->records;
  size_t index = size_t{record.device} * kKinds + record.kind;
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
  // A receiver that drops batches with a known key would lose this record.
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
  steps_.Add(record.intended_us, now_us);
  const bool counts_latency =
      options_.skip_us == 0 || record.intended_us >= first_intended_us_ + options_.skip_us;
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

}  // namespace bench
