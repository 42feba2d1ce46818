#include "core/devices/subscribers/subscriber_fanout.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/protocol/mqtt/encode.h"
#include "core/protocol/mqtt/topic.h"

namespace seganet {
namespace {

// A pass before its time, so that packets of a busy turn do not pile up.
constexpr size_t kPassBytes = 16'384;
constexpr size_t kMaxPacketBytes = 268'435'455;  // 2.2.3

// A topic of a record that is not from MQTT need not be one.
bool IsTopicName(std::string_view topic) {
  return mqtt::CheckTopicName(topic, mqtt::kMaxStringBytes + 1) == CloseReason::kNone;
}

}  // namespace

void SubscriberFanout::Refresh() {
  Pass();
  index_ = context_.subscribers->Get(&seen_);
  rows_.clear();
  if (index_ != nullptr) rows_.resize(index_->subscribers().size());
}

void SubscriberFanout::Distribute(const Record& record, std::string_view part, int64_t now_us) {
  if (context_.subscribers->HasNewer(seen_, now_us)) Refresh();
  if (index_ == nullptr) return;
  hits_.clear();
  index_->Match(record.topic, &hits_);
  if (hits_.empty() || !IsTopicName(record.topic)) return;
  ++records_;
  readers_.clear();
  for (const SubscriberIndex::Hit& hit : hits_) {
    const Interest& interest = *hit.interest;
    const Subscriber::Options& options = interest.subscriber->options();
    if (!interest.active.load(std::memory_order_relaxed)) continue;
    // 5: [MQTT-3.8.3-3]
    if (interest.options.no_local && record.device == options.id) continue;
    if (options.parted && (part.empty() || part != PartOf(options.id))) continue;
    Row& row = rows_[hit.subscriber];
    if (row.latest != records_) {
      // [MQTT-3.3.5-1] One copy for all matching filters.
      row.latest = records_;
      row.retain = false;
      row.numbers.clear();
      readers_.push_back(hit.subscriber);
    }
    row.retain = row.retain || interest.options.retain_as_published;
    if (interest.number != 0) row.numbers.push_back(interest.number);
  }
  std::optional<SubscriberRange> encoded[2][2];  // version 5, retained
  for (const uint32_t number : readers_) {
    const Row& row = rows_[number];
    const bool five = index_->subscribers()[number]->options().five;
    const bool retain = row.retain && (record.flags & kFlagRetain) != 0;
    if (!row.numbers.empty()) {
      Append(number, Encode(record, five, retain, row.numbers));
      continue;
    }
    std::optional<SubscriberRange>& packet = encoded[five][retain];
    if (!packet) packet = Encode(record, five, retain, {});
    Append(number, *packet);
  }
  if (packets_[0].size() + packets_[1].size() >= kPassBytes) Pass();
}

// Returns an empty range if MQTT has no packet of this size.
SubscriberRange SubscriberFanout::Encode(const Record& record, bool five, bool retain,
                                         const std::vector<uint32_t>& numbers) {
  mqtt::OutgoingPublish publish;
  publish.topic = record.topic;
  publish.payload = record.payload;
  publish.subscription_identifiers = numbers;
  publish.retain = retain;
  std::string& packets = packets_[five];
  const size_t begin = packets.size();
  const uint8_t level = five ? mqtt::kLevel5 : mqtt::kLevel311;
  if (mqtt::PublishBytes(level, publish) <= kMaxPacketBytes) {
    mqtt::AppendPublish(&packets, level, publish);
  }
  return {begin, packets.size(), 1};
}

void SubscriberFanout::Append(uint32_t number, const SubscriberRange& packet) {
  Subscriber& subscriber = *index_->subscribers()[number];
  const size_t bytes = packet.end - packet.begin;
  const size_t most = subscriber.options().max_packet_bytes;
  // 5: [MQTT-3.1.2-25] Treated as if it had been sent.
  if (bytes == 0 || (most != 0 && bytes > most)) {
    subscriber.Drop(1);
    context_.counters->Add(Counter::kSubscriberDrops);
    return;
  }
  std::vector<SubscriberRange>& ranges = rows_[number].ranges;
  if (ranges.empty()) touched_.push_back(number);
  if (!ranges.empty() && ranges.back().end == packet.begin) {
    ranges.back().end = packet.end;
    ++ranges.back().records;
  } else {
    ranges.push_back(packet);
  }
}

void SubscriberFanout::Pass() {
  if (touched_.empty()) return;
  const std::array chunks{ChunkOf(&packets_[0]), ChunkOf(&packets_[1])};
  for (const uint32_t number : touched_) {
    const std::shared_ptr<Subscriber>& subscriber = index_->subscribers()[number];
    std::vector<SubscriberRange>& ranges = rows_[number].ranges;
    Mail(subscriber, chunks[subscriber->options().five], ranges);
    ranges.clear();
  }
  touched_.clear();
}

bool SubscriberFanout::Send(const std::shared_ptr<Subscriber>& subscriber, std::string packets) {
  Pass();
  if (packets.empty()) return true;
  uint32_t wake = Subscriber::kNoWorker;
  const std::shared_ptr<const SubscriberChunk> chunk = ChunkOf(&packets);
  if (chunk == nullptr || !subscriber->PutKept(chunk, &wake)) return false;
  WakeLater(subscriber, wake);
  return true;
}

// Returns null if there is no room between the workers. `packets` is empty then, too.
std::shared_ptr<const SubscriberChunk> SubscriberFanout::ChunkOf(std::string* packets) {
  MemoryShare* const share = context_.subscribers->passing();
  std::string bytes = std::exchange(*packets, {});
  const auto size = static_cast<int64_t>(bytes.size());
  if (share->Add(size)) return std::make_shared<const SubscriberChunk>(std::move(bytes), share);
  share->Add(-size);
  return nullptr;
}

void SubscriberFanout::Mail(const std::shared_ptr<Subscriber>& subscriber,
                            const std::shared_ptr<const SubscriberChunk>& chunk,
                            std::span<const SubscriberRange> ranges) {
  uint64_t records = 0;
  for (const SubscriberRange& range : ranges) records += range.records;
  Subscriber::Mailed mailed{.dropped = records};
  if (chunk != nullptr) {
    mailed = subscriber->Put(chunk, ranges);
  } else {
    subscriber->Drop(records);
  }
  context_.counters->Add(Counter::kSubscriberRecords, records - mailed.dropped);
  context_.counters->Add(Counter::kSubscriberDrops, mailed.dropped);
  WakeLater(subscriber, mailed.wake);
}

void SubscriberFanout::WakeLater(const std::shared_ptr<Subscriber>& subscriber, uint32_t worker) {
  if (worker == Subscriber::kNoWorker) return;
  if (wakes_.size() <= worker) wakes_.resize(worker + 1);
  wakes_[worker].push_back(subscriber);
  wakes_any_ = true;
}

void SubscriberFanout::EndTurn(int64_t now_us) {
  if (!touched_.empty() && now_us >= next_us_) {
    Pass();
    next_us_ = now_us + kPassUs;
  }
  if (!std::exchange(wakes_any_, false)) return;
  for (uint32_t worker = 0; worker < wakes_.size(); ++worker) {
    if (wakes_[worker].empty()) continue;
    context_.wake(worker, std::exchange(wakes_[worker], {}));
  }
}

}  // namespace seganet
