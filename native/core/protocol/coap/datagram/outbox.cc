#include "core/protocol/coap/datagram/outbox.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/protocol/coap/codes.h"

namespace seganet::coap {

Outbox::Outbox(DatagramHandler* handler, const Limits& limits, SecretNumbers* secret,
               DatagramCounters* counters)
    : handler_(handler),
      max_queued_(limits.max_queued_per_peer),
      max_responses_(std::max<size_t>(limits.max_unacknowledged, 1)),
      secret_(secret),
      counters_(counters),
      queues_(0, PeerHash{static_cast<uint32_t>(secret->Next())}) {}

size_t Outbox::BytesOf(const Outgoing& message) {
  return sizeof(Outgoing) + message.bytes.size() + message.device.size();
}

bool Outbox::Push(const Peer& peer, Outgoing message, int64_t now_us) {
  const bool is_response = message.device.empty();
  if (is_response && responses_ >= max_responses_) return false;
  const auto [queue, added] = queues_.try_emplace(peer);
  if (!added && queue->second.messages.size() >= max_queued_) return false;
  if (is_response) ++responses_;
  bytes_ += BytesOf(message) + (added ? kQueueBytes : 0);
  queue->second.messages.push_back(std::move(message));
  if (added) SendFirst(queue, now_us);
  return true;
}

void Outbox::SendFirst(Queues::iterator queue, int64_t now_us) {
  Queue& q = queue->second;
  q.sent_again = 0;
  // RFC 7252 4.2: between ACK_TIMEOUT and ACK_TIMEOUT * ACK_RANDOM_FACTOR, 1.5.
  q.timeout_us = kAckTimeoutUs + static_cast<int64_t>(secret_->Next() % (kAckTimeoutUs / 2));
  q.deadline_us = now_us + q.timeout_us;
  timers_.emplace(q.deadline_us, &*queue);
  handler_->Send(queue->first, q.messages.front().bytes);
}

void Outbox::CountOut(const Outgoing& message) {
  bytes_ -= BytesOf(message);
  if (message.device.empty()) --responses_;
}

void Outbox::Remove(Queues::iterator queue) {
  for (const Outgoing& message : queue->second.messages) CountOut(message);
  bytes_ -= kQueueBytes;
  queues_.erase(queue);
}

std::optional<Outgoing> Outbox::Take(const Peer& peer, uint16_t id, int64_t now_us) {
  const auto queue = queues_.find(peer);
  if (queue == queues_.end() || queue->second.messages.front().id != id) return std::nullopt;
  Queue& q = queue->second;
  timers_.erase({q.deadline_us, &*queue});
  CountOut(q.messages.front());
  Outgoing taken = std::move(q.messages.front());
  q.messages.pop_front();
  if (q.messages.empty()) {
    Remove(queue);
  } else {
    SendFirst(queue, now_us);
  }
  return taken;
}

std::vector<Outgoing> Outbox::Drop(const Peer& peer) {
  const auto queue = queues_.find(peer);
  if (queue == queues_.end()) return {};
  timers_.erase({queue->second.deadline_us, &*queue});
  std::vector<Outgoing> dropped(queue->second.messages.begin(), queue->second.messages.end());
  Remove(queue);
  return dropped;
}

bool Outbox::HasResponse(const Peer& peer, std::string_view device, std::string_view token) const {
  const auto queue = queues_.find(peer);
  if (queue == queues_.end()) return false;
  return std::any_of(queue->second.messages.begin(), queue->second.messages.end(),
                     [device, token](const Outgoing& message) {
                       return !message.command && message.device == device &&
                              message.token == token;
                     });
}

Outbox::Dropped Outbox::DropResponse(const Peer& peer, std::string_view device,
                                     std::string_view token, int64_t now_us) {
  if (!HasResponse(peer, device, token)) return {};
  const auto queue = queues_.find(peer);
  std::deque<Outgoing>& messages = queue->second.messages;
  const uint16_t in_flight = messages.front().id;
  Dropped dropped;
  for (auto it = messages.begin(); it != messages.end();) {
    if (it->device != device || it->token != token) {
      ++it;
      continue;
    }
    CountOut(*it);
    dropped.messages.push_back(std::move(*it));
    it = messages.erase(it);
  }
  if (!messages.empty() && messages.front().id == in_flight) return dropped;
  dropped.sent_id = in_flight;
  timers_.erase({queue->second.deadline_us, &*queue});
  if (messages.empty()) {
    Remove(queue);
  } else {
    SendFirst(queue, now_us);
  }
  return dropped;
}

void Outbox::OnTime(int64_t now_us, std::vector<Lost>* lost) {
  while (deadline_us() <= now_us) {
    const auto queue = queues_.find(timers_.begin()->second->first);
    timers_.erase(timers_.begin());
    Queue& q = queue->second;
    if (q.sent_again == kMaxRetransmit) {
      ++counters_->lost_peers;
      for (const Outgoing& message : q.messages) lost->emplace_back(queue->first, message);
      Remove(queue);
      continue;
    }
    ++q.sent_again;
    ++counters_->retransmitted;
    q.timeout_us *= 2;
    q.deadline_us = now_us + q.timeout_us;
    timers_.emplace(q.deadline_us, &*queue);
    handler_->Send(queue->first, q.messages.front().bytes);
  }
}

int64_t Outbox::deadline_us() const {
  return timers_.empty() ? std::numeric_limits<int64_t>::max() : timers_.begin()->first;
}

}  // namespace seganet::coap
