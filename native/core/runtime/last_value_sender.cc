#include "core/runtime/last_value_sender.h"

#include <algorithm>
#include <string>

#include "core/devices/device_table.h"
#include "core/protocol/mqtt/encode.h"
#include "core/protocol/mqtt/topic.h"

namespace seganet {
namespace {

constexpr int64_t kPortionBytes = 16'384;
// The fixed header has at most 5 bytes, the topic's length 2, the properties 6.
constexpr int64_t kMostPacketBytes = kMostValueTopicBytes + kMostValueBytes + 13;
static_assert(kMostPacketBytes <= kPortionBytes);
// Calls of ForEachMatching of one portion.
constexpr int kMostSteps = 16;
// Requests without room that one call passes over.
constexpr size_t kMostChecked = 256;
// Time until a request without room is checked again. It doubles while none has room.
constexpr int64_t kLeastRestUs = 2'000;
constexpr int64_t kMostRestUs = 256'000;

// Appends the value as a retained message. Returns false if it cannot be one for this subscriber.
bool Append(const Interest& interest, const LastValue& value, std::string* packets) {
  // The payload was too long to be kept, or empty. 5: [MQTT-3.3.1-7] A message without a payload is
  // no retained one.
  if (value.payload.empty()) return false;
  // A topic of a record that is not from MQTT need not be a topic name.
  if (mqtt::CheckTopicName(value.topic, mqtt::kMaxStringBytes + 1) != CloseReason::kNone) {
    return false;
  }
  const Subscriber::Options& options = interest.subscriber->options();
  mqtt::OutgoingPublish publish;
  publish.topic = value.topic;
  publish.payload = value.payload;
  publish.retain = true;  // 3.1.1: [MQTT-3.3.1-8]
  if (interest.number != 0) publish.subscription_identifiers = {&interest.number, 1};
  const uint8_t level = options.five ? mqtt::kLevel5 : mqtt::kLevel311;
  // 5: [MQTT-3.1.2-25]
  const size_t most = options.max_packet_bytes;
  if (most != 0 && mqtt::PublishBytes(level, publish) > most) return false;
  mqtt::AppendPublish(packets, level, publish);
  return true;
}

}  // namespace

void LastValueSender::Add(std::shared_ptr<LastValueRequest> request) {
  const auto [at, is_new] = by_interest_.try_emplace(request->interest.get());
  if (!is_new) requests_.erase(at->second);
  // The change that made the subscription, or a later one.
  const uint64_t change = context_.fanout->changes();
  at->second = requests_.insert(requests_.end(), {std::move(request), change, {}});
  due_us_ = 0;
  rest_us_ = kLeastRestUs;
  context_.thread->Wake();
}

void LastValueSender::Serve() {
  if (requests_.empty()) return;
  const int64_t now_us = MonotonicUs();
  if (now_us < due_us_) return;
  for (size_t left = std::min(requests_.size(), kMostChecked); left > 0; --left) {
    const auto first = requests_.begin();
    const Interest* const interest = first->request->interest.get();
    const bool active = interest->active.load(std::memory_order_relaxed);
    const Progress progress = active ? SendPortion(&*first, now_us) : Progress::kEnded;
    if (progress == Progress::kEnded) {
      by_interest_.erase(interest);
      requests_.erase(first);
    } else {
      requests_.splice(requests_.end(), requests_, first);
    }
    if (progress == Progress::kWaits || !active) continue;
    due_us_ = 0;
    rest_us_ = kLeastRestUs;
    if (!requests_.empty()) context_.thread->Wake();
    return;
  }
  due_us_ = now_us + rest_us_;
  rest_us_ = std::min(rest_us_ * 2, kMostRestUs);
}

LastValueSender::Progress LastValueSender::SendPortion(Open* open, int64_t now_us) {
  LastValueRequest& request = *open->request;
  const Interest& interest = *request.interest;
  // From now on, a record that matches is passed on.
  if (!context_.fanout->Knows(open->change, now_us)) return Progress::kWaits;
  const int64_t room = std::min(interest.subscriber->kept_room(), kPortionBytes);
  if (room < kMostPacketBytes) return Progress::kWaits;
  ValueKey after = open->after;
  std::string packets;
  int64_t taken = 0;
  bool ended = false, full = false;
  const auto fitting = [&] {
    return static_cast<size_t>((room - static_cast<int64_t>(packets.size())) / kMostPacketBytes);
  };
  for (int steps = 0; steps < kMostSteps && !ended && !full && fitting() > 0; ++steps) {
    const size_t most = fitting();
    size_t seen = 0;
    ended = context_.values->ForEachMatching(
        interest.filter, most, &after, [&](const Device& device, const LastValue& value) {
          ++seen;
          if (full || !MayRead(interest, device) || !Append(interest, value, &packets)) return;
          ++taken;
          full = request.left.fetch_sub(1, std::memory_order_relaxed) <= 1;
        });
    // It has looked at as many values as one turn may.
    if (seen < most) break;
  }
  if (!context_.fanout->Send(interest.subscriber, std::move(packets))) {
    request.left.fetch_add(taken, std::memory_order_relaxed);
    return Progress::kWaits;
  }
  open->after = std::move(after);
  return ended || full ? Progress::kEnded : Progress::kSent;
}

// As for records (SubscriberFanout).
bool LastValueSender::MayRead(const Interest& interest, const Device& device) const {
  const Subscriber::Options& options = interest.subscriber->options();
  // 5: [MQTT-3.8.3-3]
  if (interest.options.no_local && device.id == options.id) return false;
  if (!options.parted) return true;
  return context_.pipeline->plan().SettingsOf(device.stage).parted &&
         PartOf(device.id) == PartOf(options.id);
}

}  // namespace seganet
