#include "core/protocol/coap/datagram/datagram_server.h"

#include <algorithm>
#include <limits>

#include "core/base/require.h"
#include "core/protocol/coap/datagram/datagram_impl.h"

namespace seganet::coap {

DatagramImpl::DatagramImpl(DatagramHandler* handler, const Settings& settings, const Limits& limits,
                           uint32_t worker, uint32_t workers, uint64_t seed)
    : handler_(handler),
      settings_(settings),
      limits_(limits),
      secret_(seed),
      far_ends_(std::max<size_t>(limits.max_peers, 1), worker, workers, &secret_),
      exchanges_(std::max<size_t>(limits.max_exchanges, 1)),
      uploads_(limits, settings.max_body_bytes),
      outbox_(handler, limits, &secret_, &counters),
      observers_(limits),
      commands_(limits.max_command_bytes) {}

void DatagramImpl::OnRead(const Peer& peer, int64_t now_us) {
  switch (read_.status) {
    case ParseStatus::kOk:
      OnMessage(peer, now_us);
      break;
    case ParseStatus::kNoMessage:
      ++counters.malformed;
      break;
    case ParseStatus::kMalformed:
      ++counters.malformed;
      Refuse(peer, now_us);
      break;
  }
}

// RFC 7252 4.2, 4.3: an unprocessable message is reset if it is confirmable, else ignored.
void DatagramImpl::Refuse(const Peer& peer, int64_t now_us) {
  if (message_.type != Type::kConfirmable || !MayFail(peer, now_us)) return;
  handler_->Send(peer, EmptyDatagram(Type::kReset, message_.id));
}

void DatagramImpl::OnMessage(const Peer& peer, int64_t now_us) {
  const bool is_ask = message_.type == Type::kConfirmable || message_.type == Type::kNonConfirmable;
  if (is_ask) {
    if (read_.is_request()) {
      OnRequest(peer, now_us);
    } else {
      // An Empty CON is a ping and gets a reset (RFC 7252 4.3). The server sends no requests, so it
      // handles a response like a reserved class.
      Refuse(peer, now_us);
    }
    return;
  }
  if (message_.code != kEmpty) return;  // RFC 7252 4.2: a response, but we sent no request
  const std::optional<Outgoing> ours = outbox_.Take(peer, message_.id, now_us);
  // Only the receiver knows our message id, also that of a message that was withdrawn meanwhile.
  if (!ours) return far_ends_.ProveByWithdrawn(peer, message_.id);
  far_ends_.Touch(peer).proved = true;
  if (message_.type == Type::kAcknowledgement) {
    OnTaken(peer, *ours, now_us);
  } else {
    OnFailed(peer, *ours, kCommandRefused);
  }
}

void DatagramImpl::OnTime(int64_t now_us) {
  while (!separate_due_.empty() && separate_due_.front().at_us <= now_us) {
    const Due due = separate_due_.front();
    separate_due_.pop_front();
    Pending* const found = pending_.Find(due.handle);
    if (found == nullptr) continue;
    forget_due_.push_back({due.at_us - kSeparateAfterUs + kExchangeLifetimeUs, due.handle});
    if (found->asker.type != Type::kConfirmable) continue;
    found->acknowledged = true;
    SendEmpty(found->asker);
  }
  while (!forget_due_.empty() && forget_due_.front().at_us <= now_us) {
    pending_.Erase(forget_due_.front().handle);
    forget_due_.pop_front();
  }
  DropDone();
  uploads_.OnTime(now_us);
  std::vector<Outbox::Lost> lost;
  outbox_.OnTime(now_us, &lost);
  for (const auto& [peer, message] : lost) OnFailed(peer, message, kCommandLost);
  for (const std::string& device : commands_.Overdue(now_us)) {
    End(commands_.Find(device), kCommandLost);
  }
}

void DatagramImpl::Forget(const Peer& peer, std::string_view only) {
  for (const Outgoing& message : outbox_.Drop(peer)) OnFailed(peer, message, kCommandLost);
  for (const std::string& device : observers_.RemovePeer(peer, only)) {
    if (!Listens(device)) handler_->OnObserved(device, false);
  }
}

void DatagramImpl::Retain(std::string_view device, bool (*keep)(const Peer& peer)) {
  std::vector<Peer> gone;
  for (const Observer& observer : observers_.Of(device)) {
    if (!keep(observer.peer)) gone.push_back(observer.peer);
  }
  for (const Peer& peer : gone) Forget(peer, device);
}

// Drops the deadlines of answered records.
void DatagramImpl::DropDone() {
  const auto drop = [this](std::deque<Due>* due) {
    while (!due->empty() && pending_.Find(due->front().handle) == nullptr) due->pop_front();
  };
  drop(&separate_due_);
  drop(&forget_due_);
}

int64_t DatagramImpl::NextDeadline() const {
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  return std::min({separate_due_.empty() ? kNever : separate_due_.front().at_us,
                   forget_due_.empty() ? kNever : forget_due_.front().at_us, uploads_.deadline_us(),
                   outbox_.deadline_us(), commands_.deadline_us()});
}

size_t DatagramImpl::memory_bytes() const {
  return pending_.memory_bytes() + (separate_due_.size() + forget_due_.size()) * sizeof(Due) +
         far_ends_.memory_bytes() + exchanges_.memory_bytes() + uploads_.memory_bytes() +
         outbox_.memory_bytes() + observers_.memory_bytes() + commands_.memory_bytes();
}

DatagramServer::DatagramServer(DatagramHandler* handler, const Settings& settings,
                               const Limits& limits, uint32_t worker, uint32_t workers,
                               uint64_t seed)
    : impl_(std::make_unique<DatagramImpl>(handler, settings, limits, worker, workers, seed)) {
  SEGANET_REQUIRE(worker < workers && workers <= 1024);
}

DatagramServer::~DatagramServer() = default;

Route DatagramServer::Read(std::span<const uint8_t> datagram, std::string_view part) {
  return impl_->Read(datagram, part);
}

void DatagramServer::OnRead(const Peer& peer, int64_t now_us, bool multicast) {
  ++impl_->counters.datagrams;
  if (multicast) {  // RFC 7252 8.2: a server may ignore it, and an answer would be an amplification
    ++impl_->counters.multicast;
    return;
  }
  impl_->OnRead(peer, now_us);
}

void DatagramServer::Acknowledge(uint64_t handle, int64_t now_us) {
  impl_->Acknowledge(handle, now_us);
}

void DatagramServer::Withhold(uint64_t handle, uint32_t retry_s, int64_t now_us) {
  impl_->Withhold(handle, retry_s, now_us);
}

CommandStart DatagramServer::Command(uint64_t id, std::string_view device, std::string_view topic,
                                     std::string_view payload, int64_t now_us) {
  return impl_->Start(id, device, topic, payload, now_us);
}

void DatagramServer::Forget(const Peer& peer, std::string_view device) {
  impl_->Forget(peer, device);
}

void DatagramServer::Retain(std::string_view device, bool (*keep)(const Peer& peer)) {
  impl_->Retain(device, keep);
}

int64_t DatagramServer::NextDeadline() const { return impl_->NextDeadline(); }
void DatagramServer::OnTime(int64_t now_us) { impl_->OnTime(now_us); }
bool DatagramServer::Listens(std::string_view device) const { return impl_->Listens(device); }
size_t DatagramServer::unacknowledged() const { return impl_->unacknowledged(); }
const DatagramCounters& DatagramServer::counters() const { return impl_->counters; }
size_t DatagramServer::memory_bytes() const { return sizeof(DatagramImpl) + impl_->memory_bytes(); }

}  // namespace seganet::coap
