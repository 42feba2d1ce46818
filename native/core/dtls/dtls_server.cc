#include "core/dtls/dtls_server.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/base/require.h"

namespace seganet {
namespace {

// A session's number: a count, the worker, and whether it has proven a device id.
constexpr int kWorkerShift = 48;
constexpr uint64_t kProven = uint64_t{1} << 63;
constexpr size_t kNumberBytes = sizeof(uint64_t);
// Sessions have this first byte; addresses have their family there (devices/coap_address.cc).
constexpr uint8_t kSessionMark = 0x80;

coap::Peer SessionPeer(const coap::Peer& address, uint64_t number) {
  SEGANET_REQUIRE(address.size > 0 && address.size + kNumberBytes <= coap::Peer::kMaxBytes);
  coap::Peer peer = address;
  peer.bytes[0] |= kSessionMark;
  std::memcpy(&peer.bytes[address.size], &number, kNumberBytes);
  peer.size = static_cast<uint8_t>(address.size + kNumberBytes);
  return peer;
}

uint64_t NumberOf(const coap::Peer& session) {
  SEGANET_REQUIRE(DtlsServer::IsSession(session));
  uint64_t number = 0;
  std::memcpy(&number, &session.bytes[session.size - kNumberBytes], kNumberBytes);
  return number;
}

constexpr size_t kMaxMessageBytes = 16384;  // of a record (RFC 5246 6.2.1)

}  // namespace

bool DtlsServer::IsSession(const coap::Peer& peer) {
  return peer.size > kNumberBytes && (peer.bytes[0] & kSessionMark) != 0;
}

uint32_t DtlsServer::WorkerOf(const coap::Peer& session) {
  return static_cast<uint32_t>(NumberOf(session) >> kWorkerShift & 0x3FF);
}

bool DtlsServer::IsProven(const coap::Peer& session) { return (NumberOf(session) & kProven) != 0; }

coap::Peer DtlsServer::AddressOf(const coap::Peer& session) {
  SEGANET_REQUIRE(IsSession(session));
  coap::Peer address(session.bytes.data(), session.size - kNumberBytes);
  address.bytes[0] &= static_cast<uint8_t>(~kSessionMark);
  return address;
}

struct DtlsServer::Connection final : DatagramPipe {
  Connection(DtlsServer* server, const coap::Peer& from, std::string_view client_random)
      : owner(server), address(from), random(client_random), tls(server->context_, this) {}

  void SendDatagram(std::string_view datagram) override {
    owner->handler_->SendSealed(address, datagram);
  }

  DtlsServer* const owner;
  const coap::Peer address;
  const std::string random;   // of its ClientHello
  coap::Peer session;         // once open
  uint64_t number = 0;        // once open
  std::string device;         // proven; empty = none
  int64_t since_us = 0;       // the start of its handshake; once open, its latest datagram
  int64_t retransmit_us = 0;  // 0 = not in retransmissions_
  size_t handshake_bytes = 0;
  size_t early_records = 0;  // how many more are taken
  bool reading = false;      // inside of ReadAll()
  Connections::iterator place;
  DtlsConnection tls;
};

DtlsServer::DtlsServer(DtlsHandler* handler, const DtlsLimits& limits, uint32_t worker,
                       const HelloCookies::Secret& secret,
                       std::shared_ptr<const DtlsContext> context)
    : handler_(handler),
      limits_(limits),
      worker_(worker),
      cookies_(secret),
      context_(std::move(context)),
      budget_(limits.host_burst, limits.host_per_s),
      entries_(0, coap::PeerHash{static_cast<uint32_t>(secret[0] ^ secret[2])}) {
  SEGANET_REQUIRE(handler != nullptr && context_ != nullptr && worker < 1024);
}

DtlsServer::~DtlsServer() = default;

void DtlsServer::OnDatagram(const coap::Peer& address, std::span<const uint8_t> datagram,
                            int64_t now_us) {
  if (const auto hello = ReadClientHello(datagram)) {
    return OnHello(address, *hello, datagram, now_us);
  }
  const auto found = entries_.find(address);
  const std::optional<uint16_t> epoch = DtlsEpoch(datagram);
  if (found == entries_.end() || !epoch) {
    ++counters_.ignored;
    return;
  }
  // Feed() may change entries_.
  const auto [open, starting] = found->second;
  // Records of both connections may be encrypted. Each ignores those of the other.
  if (open != nullptr && (starting == nullptr || *epoch > 0)) Feed(open, datagram, now_us);
  const auto again = entries_.find(address);
  if (starting != nullptr && again != entries_.end() && again->second.starting == starting) {
    Feed(starting, datagram, now_us);
  }
}

void DtlsServer::OnHello(const coap::Peer& address, const ClientHello& hello,
                         std::span<const uint8_t> datagram, int64_t now_us) {
  if (!cookies_.IsValid(address.text(), hello, now_us)) {
    ++counters_.challenges;
    handler_->SendSealed(address, cookies_.Challenge(address.text(), hello, now_us));
    return;
  }
  const auto found = entries_.find(address);
  if (found != entries_.end()) {
    const auto [open, starting] = found->second;
    for (Connection* known : {starting, open}) {
      // A repeated ClientHello of a known handshake; OpenSSL repeats its answer or ignores it.
      if (known != nullptr && known->random == hello.random) return Feed(known, datagram, now_us);
    }
    if (starting != nullptr) {
      ++counters_.refused;
      EndHandshake(starting);
    }
  }
  Start(address, hello, datagram, now_us);
}

void DtlsServer::Start(const coap::Peer& address, const ClientHello& hello,
                       std::span<const uint8_t> datagram, int64_t now_us) {
  if (!budget_.Take(handler_->HostOf(address), now_us)) {
    ++counters_.limited;
    return;
  }
  if (handshakes_.size() >= limits_.max_handshakes) {
    ++counters_.refused;
    EndHandshake(handshakes_.front().get());
  }
  handshakes_.push_back(std::make_unique<Connection>(this, address, hello.random));
  Connection* const connection = handshakes_.back().get();
  connection->place = std::prev(handshakes_.end());
  connection->since_us = now_us;
  connection->early_records = limits_.max_early_records;
  entries_[address].starting = connection;
  connection->handshake_bytes = datagram.size();
  connection->tls.Start(datagram);
  Advance(connection, now_us);
}

void DtlsServer::Feed(Connection* connection, std::span<const uint8_t> datagram, int64_t now_us) {
  const bool was_open = connection->number != 0;
  if (!was_open) {
    connection->handshake_bytes += datagram.size();
    datagram = LimitEncrypted(datagram, &connection->early_records);
  }
  connection->tls.Receive(datagram);
  if (!was_open && !Advance(connection, now_us)) return;
  if (connection->number != 0) ReadAll(connection, now_us);
}

void DtlsServer::ReadAll(Connection* connection, int64_t now_us) {
  uint8_t message[kMaxMessageBytes];
  connection->reading = true;
  while (const size_t size = connection->tls.Read(message)) {
    // Only a genuine record counts as a sign of life.
    connection->since_us = now_us;
    sessions_.splice(sessions_.end(), sessions_, connection->place);
    handler_->OnOpened(connection->session, connection->address, connection->device,
                       {message, size});
  }
  connection->reading = false;
  if (connection->tls.state() == DtlsConnection::State::kOpen) {
    connection->tls.FreeBuffers();
  } else {
    EndSession(connection, false);
  }
}

bool DtlsServer::Advance(Connection* connection, int64_t now_us) {
  using State = DtlsConnection::State;
  const State state = connection->tls.state();
  if (state == State::kOpen) {
    DtlsProof proof = connection->tls.Proof();
    if (proof.refusal == nullptr) {
      Open(connection, std::move(proof.device), now_us);
      return true;
    }
    connection->tls.Close();
  } else if (state == State::kHandshake &&
             connection->handshake_bytes <= limits_.max_handshake_bytes) {
    ArmRetransmission(connection, now_us);
    return true;
  }
  ++counters_.refused;
  EndHandshake(connection);
  return false;
}

void DtlsServer::Open(Connection* connection, std::string device, int64_t now_us) {
  ++counters_.handshakes;
  counters_.resumed += connection->tls.resumed() ? 1 : 0;
  budget_.Refund(handler_->HostOf(connection->address));
  Entry& entry = entries_[connection->address];
  entry.starting = nullptr;
  // The client has the keys of the new session, and so it has given up the old one.
  Connection* const old = std::exchange(entry.open, connection);
  if (old != nullptr) {
    EndSession(old, false);
    entries_[connection->address].open = connection;
  }
  if (connection->retransmit_us != 0) {
    retransmissions_.erase({connection->retransmit_us, connection});
    connection->retransmit_us = 0;
  }
  connection->number = ++last_number_ | uint64_t{worker_} << kWorkerShift;
  if (!device.empty()) connection->number |= kProven;
  connection->device = std::move(device);
  connection->session = SessionPeer(connection->address, connection->number);
  connection->since_us = now_us;
  sessions_.splice(sessions_.end(), handshakes_, connection->place);
  by_number_.emplace(connection->number, connection);
  if (!connection->device.empty()) {
    by_device_[connection->device].push_back(connection);
    LimitSessionsOf(connection->device);
  }
  if (sessions_.size() > limits_.max_sessions) EndSession(sessions_.front().get(), true);
}

void DtlsServer::LimitSessionsOf(const std::string& device) {
  const auto found = by_device_.find(device);
  if (found->second.size() <= limits_.max_sessions_per_device) return;
  // The newest session stays.
  const auto end = std::prev(found->second.end());
  const auto before = [](const Connection* a, const Connection* b) {
    return a->since_us < b->since_us;
  };
  EndSession(*std::min_element(found->second.begin(), end, before), true);
}

bool DtlsServer::Send(const coap::Peer& session, std::string_view message) {
  const auto found = by_number_.find(NumberOf(session));
  if (found == by_number_.end()) return false;
  Connection* const connection = found->second;
  const bool sent = connection->tls.Write(message);
  if (!connection->reading) connection->tls.FreeBuffers();
  return sent;
}

void DtlsServer::ArmRetransmission(Connection* connection, int64_t now_us) {
  const int64_t wait_us = connection->tls.WaitUs();
  const int64_t at_us = wait_us < 0 ? 0 : now_us + std::max<int64_t>(wait_us, 1000);
  if (connection->retransmit_us == at_us) return;
  if (connection->retransmit_us != 0) {
    retransmissions_.erase({connection->retransmit_us, connection});
  }
  connection->retransmit_us = at_us;
  if (at_us != 0) retransmissions_.emplace(at_us, connection);
}

int64_t DtlsServer::NextDeadline() const {
  int64_t deadline = std::numeric_limits<int64_t>::max();
  if (!retransmissions_.empty()) deadline = retransmissions_.begin()->first;
  if (!handshakes_.empty()) {
    deadline = std::min(deadline, handshakes_.front()->since_us + limits_.handshake_timeout_us);
  }
  if (!sessions_.empty()) {
    deadline = std::min(deadline, sessions_.front()->since_us + limits_.idle_us);
  }
  return deadline;
}

void DtlsServer::OnTime(int64_t now_us) {
  while (!handshakes_.empty() &&
         handshakes_.front()->since_us + limits_.handshake_timeout_us <= now_us) {
    ++counters_.refused;
    EndHandshake(handshakes_.front().get());
  }
  while (!sessions_.empty() && sessions_.front()->since_us + limits_.idle_us <= now_us) {
    EndSession(sessions_.front().get(), true);
  }
  while (!retransmissions_.empty() && retransmissions_.begin()->first <= now_us) {
    Connection* const connection = retransmissions_.begin()->second;
    retransmissions_.erase(retransmissions_.begin());
    connection->retransmit_us = 0;
    connection->tls.Retransmit();
    Advance(connection, now_us);
  }
}

void DtlsServer::EndHandshake(Connection* connection) {
  Entry& entry = entries_[connection->address];
  entry.starting = nullptr;
  if (entry.open == nullptr) entries_.erase(connection->address);
  Forget(connection);
  handshakes_.erase(connection->place);
}

void DtlsServer::EndSession(Connection* connection, bool notify) {
  ++counters_.ended;
  if (notify) connection->tls.Close();
  Entry& entry = entries_[connection->address];
  entry.open = nullptr;
  if (entry.starting == nullptr) entries_.erase(connection->address);
  by_number_.erase(connection->number);
  const auto found = by_device_.find(connection->device);
  if (found != by_device_.end()) {
    std::erase(found->second, connection);
    if (found->second.empty()) by_device_.erase(found);
  }
  const coap::Peer session = connection->session;
  const std::string device = std::move(connection->device);
  Forget(connection);
  sessions_.erase(connection->place);
  handler_->OnEnded(session, device);
}

// Removes the connection from the timers; its list's node is removed by the caller.
void DtlsServer::Forget(Connection* connection) {
  if (connection->retransmit_us == 0) return;
  retransmissions_.erase({connection->retransmit_us, connection});
  connection->retransmit_us = 0;
}

void DtlsServer::Close() {
  for (const auto& connection : sessions_) connection->tls.Close();
  counters_.ended += sessions_.size();
  retransmissions_.clear();
  by_number_.clear();
  by_device_.clear();
  entries_.clear();
  sessions_.clear();
  handshakes_.clear();
}

}  // namespace seganet
