#include "core/devices/coap_endpoint.h"

#include <algorithm>
#include <utility>

#include "core/base/bytes.h"
#include "core/devices/coap_address.h"
#include "core/devices/coap_convert.h"
#include "core/loop/poll_handle.h"
#include "core/record/part.h"

namespace seganet {
namespace {

// Batches per wake-up: a flood leaves time for the worker's connections and receipts.
constexpr int kBatchesPerTurn = 8;

}  // namespace

CoapEndpoint::CoapEndpoint(CoapHost* host, uv_loop_t* loop, int fd, CounterBlock* counters,
                           const CoapEndpointOptions& options)
    : host_(host),
      counters_(counters),
      options_(options),
      socket_(fd),
      server_(this, options.settings, options.limits, options.worker, options.workers,
              options.seed),
      crossing_(options.workers) {
  if (options.dtls != nullptr) {
    dtls_.reset(new DtlsServer(this, options.dtls_limits, options.worker, options.cookie_secret,
                               options.dtls));
  }
  error_ = InitPoll(loop, &poll_, fd);
  uv_timer_init(loop, &timer_);
  poll_.data = this;
  timer_.data = this;
  Poll();
}

// Watches the socket. After an error of the socket, libuv stops watching it; KeepReading() restarts
// it. OnReadable ignores the status and reads, which clears the socket's error.
void CoapEndpoint::Poll() {
  StartPoll(&poll_, UV_READABLE, [](uv_poll_t* poll, int, int) {
    static_cast<CoapEndpoint*>(poll->data)->OnReadable();
  });
}

void CoapEndpoint::OnReadable() {
  for (int turn = 0; turn < kBatchesPerTurn; ++turn) {
    const std::span<const ReceivedDatagram> batch = socket_.Receive();
    if (batch.empty()) break;
    size_t bytes = 0;
    for (const ReceivedDatagram& each : batch) bytes += each.bytes.size();
    host_->OnDatagrams(batch.size(), bytes);
    now_us_ = MonotonicUs();
    for (const ReceivedDatagram& each : batch) {
      if (dtls_ == nullptr) {
        Deliver(each.peer, {}, each.bytes, each.multicast);
      } else if (each.multicast) {
        counters_->Add(Counter::kDatagramsIgnored);  // RFC 7252 8: DTLS has no groups
      } else {
        dtls_->OnDatagram(each.peer, each.bytes, now_us_);
      }
    }
    if (batch.size() < CoapSocket::kBatch) break;
  }
  Flush();
}

void CoapEndpoint::Deliver(const coap::Peer& peer, std::string_view device,
                           std::span<const uint8_t> datagram, bool multicast) {
  const uint32_t owner = WorkerFor(server_.Read(datagram, PartFor(device)));
  if (owner == options_.worker || multicast) return OnRead(peer, device, multicast);
  crossing_[owner].Add(CrossedDatagrams::Kind::kArrived, peer, device, TextOf(datagram));
}

// Returns the part of the devices that a session with this proven id may name; empty = that of the
// settings.
std::string_view CoapEndpoint::PartFor(std::string_view proven) const {
  return options_.settings.parted ? PartOf(proven) : std::string_view();
}

void CoapEndpoint::CrossAll() {
  for (uint32_t worker = 0; worker < crossing_.size(); ++worker) {
    if (crossing_[worker].entries.empty()) continue;
    host_->Cross(worker, options_.stage, std::exchange(crossing_[worker], {}));
  }
}

uint32_t CoapEndpoint::WorkerFor(const coap::Route& route) const {
  if (options_.workers == 1) return options_.worker;
  switch (route.kind) {
    case coap::Route::Kind::kDevice:
      return host_->OwnerOf(route.device);
    case coap::Route::Kind::kMessageId:
      return route.message_id % options_.workers;
    case coap::Route::Kind::kAny:
      break;
  }
  return options_.worker;
}

void CoapEndpoint::OnCrossed(const CrossedDatagrams& datagrams) {
  if (closing_) return;
  host_->OnDatagrams(0, 0);  // counted where they were received
  now_us_ = MonotonicUs();
  std::string_view rest = datagrams.bytes;
  for (const CrossedDatagrams::Entry& each : datagrams.entries) {
    const std::string_view device = rest.substr(0, each.device_size);
    const std::string_view datagram = rest.substr(each.device_size, each.size);
    rest.remove_prefix(each.device_size + each.size);
    switch (each.kind) {
      case CrossedDatagrams::Kind::kArrived:
        server_.Read({reinterpret_cast<const uint8_t*>(datagram.data()), datagram.size()},
                     PartFor(device));
        OnRead(each.peer, device, false);
        break;
      case CrossedDatagrams::Kind::kLeaves:
        if (dtls_ != nullptr) dtls_->Send(each.peer, datagram);
        break;
      case CrossedDatagrams::Kind::kEnded:
        server_.Forget(each.peer, device);
        break;
    }
  }
  Flush();
}

void CoapEndpoint::OnRead(const coap::Peer& peer, std::string_view device, bool multicast) {
  at_hand_ = &peer;
  proven_ = device;
  server_.OnRead(peer, now_us_, multicast);
  at_hand_ = nullptr;
  proven_ = {};
}

// A session that has proven a device id serves no other device.
bool CoapEndpoint::MayBe(std::string_view device) {
  if (proven_.empty() || device == proven_) return true;
  counters_->Add(Counter::kNotAllowed);
  return false;
}

coap::Answer CoapEndpoint::OnRecord(const coap::Incoming& incoming) {
  return CoapAnswer(host_->OnDatagramRecord(this, incoming));
}

void CoapEndpoint::OnCommandAnswer(uint64_t id, uint8_t result) {
  host_->OnDatagramCommandAnswer(id, result);
}

bool CoapEndpoint::MayObserve(std::string_view device) { return host_->MayObserve(this, device); }

void CoapEndpoint::OnObserved(std::string_view device, bool on) {
  host_->OnObserved(this, device, on);
}

void CoapEndpoint::Send(const coap::Peer& peer, std::string_view datagram) {
  if (dtls_ == nullptr) return socket_.Send(peer, datagram);
  const uint32_t worker = DtlsServer::WorkerOf(peer);
  if (worker == options_.worker) {
    dtls_->Send(peer, datagram);
  } else {
    crossing_[worker].Add(CrossedDatagrams::Kind::kLeaves, peer, {}, datagram);
  }
}

void CoapEndpoint::SendSealed(const coap::Peer& address, std::string_view datagram) {
  socket_.Send(address, datagram);
}

void CoapEndpoint::OnOpened(const coap::Peer& session, const coap::Peer& /*address*/,
                            std::string_view device, std::span<const uint8_t> message) {
  Deliver(session, device, message, false);
}

// The device may have sent requests on any worker: it may have moved, and a session that has proven
// no id may serve several devices.
void CoapEndpoint::OnEnded(const coap::Peer& session, std::string_view device) {
  for (uint32_t worker = 0; worker < crossing_.size(); ++worker) {
    if (worker == options_.worker) continue;
    crossing_[worker].Add(CrossedDatagrams::Kind::kEnded, session, device, {});
  }
  server_.Forget(session, device);
}

std::string CoapEndpoint::HostOf(const coap::Peer& address) { return seganet::HostOf(address); }

// Many calls come between two flushes; all of them use one reading of the clock.
void CoapEndpoint::Acknowledge(uint64_t handle) {
  if (!acknowledging_) now_us_ = MonotonicUs();
  acknowledging_ = true;
  server_.Acknowledge(handle, now_us_);
}

void CoapEndpoint::Withhold(uint64_t handle) {
  server_.Withhold(handle, kNotTakenRetryS, MonotonicUs());
}

CommandStart CoapEndpoint::SendCommand(uint64_t id, const Command& command) {
  // The device may have begun to observe before a connection proved its id.
  if (host_->IsProven(command.device)) {
    if (dtls_ == nullptr) return CommandStart::kOffline;
    server_.Retain(command.device, &DtlsServer::IsProven);
  }
  if (!server_.Listens(command.device)) {
    return host_->IsAt(this, command.device) ? CommandStart::kNotListening : CommandStart::kOffline;
  }
  const bool parted = options_.settings.parted;
  const std::string_view name = parted ? NameInPart(command.device) : command.device;
  const std::string topic = CoapCommandTopic(CommandTopicFor(name, command.topic, command.device),
                                             name, options_.settings.command_path);
  const coap::CommandStart start =
      server_.Command(id, command.device, topic, command.payload, MonotonicUs());
  Flush();
  return FromCoap(start);
}

void CoapEndpoint::Flush() {
  acknowledging_ = false;
  if (closing_) return;
  CrossAll();
  if (const size_t lost = socket_.Flush(); lost > 0) {
    counters_->Add(Counter::kDatagramsLost, lost);
  }
  Count();
  ArmTimer();
}

void CoapEndpoint::Count() {
  const coap::DatagramCounters& now = server_.counters();
  const auto add = [this](Counter counter, uint64_t value, uint64_t* counted) {
    if (value == *counted) return;
    counters_->Add(counter, value - *counted);
    *counted = value;
  };
  add(Counter::kDatagramsMalformed, now.malformed, &counted_.malformed);
  add(Counter::kDatagramsDuplicate, now.duplicates, &counted_.duplicates);
  add(Counter::kCoapRefused, now.refused, &counted_.refused);
  add(Counter::kDatagramsIgnored, now.multicast, &counted_.multicast);
  add(Counter::kDatagramsIgnored, now.silenced, &counted_.silenced);
  add(Counter::kDatagramsSentAgain, now.retransmitted, &counted_.retransmitted);
  add(Counter::kCoapPeersLost, now.lost_peers, &counted_.lost_peers);
  CountDtls();
}

void CoapEndpoint::CountDtls() {
  if (dtls_ == nullptr) return;
  const DtlsCounters& now = dtls_->counters();
  const auto add = [this](Counter counter, uint64_t value, uint64_t* counted) {
    if (value == *counted) return;
    counters_->Add(counter, value - *counted);
    *counted = value;
  };
  add(Counter::kDtlsChallenges, now.challenges, &dtls_counted_.challenges);
  add(Counter::kDtlsHandshakes, now.handshakes, &dtls_counted_.handshakes);
  add(Counter::kDtlsResumed, now.resumed, &dtls_counted_.resumed);
  add(Counter::kDtlsRefused, now.refused, &dtls_counted_.refused);
  add(Counter::kDtlsLimited, now.limited, &dtls_counted_.limited);
  add(Counter::kDtlsIgnored, now.ignored, &dtls_counted_.ignored);
  add(Counter::kDtlsEnded, now.ended, &dtls_counted_.ended);
}

// A later deadline does not rearm the timer; it is checked when the timer fires. Most records are
// safe long before their empty acknowledgement is due.
void CoapEndpoint::ArmTimer() {
  int64_t deadline = server_.NextDeadline();
  if (dtls_ != nullptr) deadline = std::min(deadline, dtls_->NextDeadline());
  if (deadline >= armed_us_) return;
  armed_us_ = deadline;
  const int64_t wait_us = std::max<int64_t>(0, deadline - MonotonicUs());
  uv_timer_start(
      &timer_, [](uv_timer_t* timer) { static_cast<CoapEndpoint*>(timer->data)->OnTime(); },
      static_cast<uint64_t>(wait_us + 999) / 1000, 0);
}

void CoapEndpoint::OnTime() {
  armed_us_ = kNever;
  now_us_ = MonotonicUs();
  server_.OnTime(now_us_);
  if (dtls_ != nullptr) dtls_->OnTime(now_us_);
  Flush();
}

void CoapEndpoint::Close() {
  if (closing_) return;
  if (dtls_ != nullptr) dtls_->Close();
  Flush();
  closing_ = true;
  const auto closed = [](uv_handle_t* handle) {
    static_cast<CoapEndpoint*>(handle->data)->HandleClosed();
  };
  uv_close(Handle(&poll_), closed);
  uv_close(Handle(&timer_), closed);
  socket_.Close();
}

void CoapEndpoint::HandleClosed() {
  if (--open_handles_ == 0) delete this;
}

}  // namespace seganet
