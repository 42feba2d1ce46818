// The server's end of DTLS 1.2 for the peers of one socket.
#ifndef SEGANET_CORE_DTLS_DTLS_SERVER_H_
#define SEGANET_CORE_DTLS_DTLS_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/keyed_hash.h"
#include "core/dtls/client_hello.h"
#include "core/dtls/dtls_connection.h"
#include "core/dtls/handshake_budget.h"
#include "core/protocol/coap/peer.h"

namespace seganet {

struct DtlsLimits {
  // Handshakes in progress. One more ends the oldest: a normal one takes milliseconds.
  size_t max_handshakes = 512;
  // Of one host; see HandshakeBudget.
  uint32_t host_burst = 100;
  uint32_t host_per_s = 10;
  int64_t handshake_timeout_us = 10'000'000;
  size_t max_handshake_bytes = 32768;  // that a client sends
  // Encrypted records before the handshake is complete. OpenSSL keeps 17 KiB for each one that
  // arrives too early.
  size_t max_early_records = 4;
  // Open sessions. One more ends the session that was silent longest; so do `idle_us` of silence.
  size_t max_sessions = 10000;
  size_t max_sessions_per_device = 4;
  int64_t idle_us = 86'400'000'000;
};

// Events since the server was made.
struct DtlsCounters {
  uint64_t challenges = 0;  // ClientHellos answered by a cookie
  uint64_t handshakes = 0;  // completed, with a valid login
  uint64_t resumed = 0;     // of these
  uint64_t refused = 0;     // failed: key, certificate, time, bytes; or ended for a newer one
  uint64_t limited = 0;     // valid ClientHellos ignored because of the host's budget
  uint64_t ignored = 0;     // datagrams without a session, malformed ones
  uint64_t ended = 0;       // sessions
};

// Receives the events of a DtlsServer. During a call the owner may call DtlsServer::Send, but no
// other function.
class DtlsHandler {
 public:
  // Sends a datagram to the address of a peer now.
  virtual void SendSealed(const coap::Peer& address, std::string_view datagram) = 0;
  // A message arrived. `device`: the id that the session has proven; empty = none.
  virtual void OnOpened(const coap::Peer& session, const coap::Peer& address,
                        std::string_view device, std::span<const uint8_t> message) = 0;
  // The session has ended. No message comes from it, and none can be sent to it.
  virtual void OnEnded(const coap::Peer& session, std::string_view device) = 0;
  // Returns the host of an address, without the port. The hosts of an IPv6 /64 are one.
  virtual std::string HostOf(const coap::Peer& address) = 0;

 protected:
  ~DtlsHandler() = default;
};

// A session is a peer of its own: its address with a number. State that belongs to a session (RFC
// 7252 9.1.1) is therefore never used for another session of the same address.
//
// A client without a session gets a cookie first (RFC 6347 4.2.1). Up to the ClientHello that
// returns it, this server keeps nothing and sends less than it receives. A new handshake does not
// disturb an open session of the same address until it is complete (RFC 6347 4.2.8).
//
// Each now_us is the time of the same monotonic clock, us.
//
// Thread safety: owned by one worker.
class DtlsServer {
 public:
  // REQUIRES: handler outlives the server; worker < 1024. All workers of a port have the same
  // secret.
  DtlsServer(DtlsHandler* handler, const DtlsLimits& limits, uint32_t worker,
             const HelloCookies::Secret& secret, std::shared_ptr<const DtlsContext> context);
  ~DtlsServer();
  DtlsServer(const DtlsServer&) = delete;
  DtlsServer& operator=(const DtlsServer&) = delete;

  // Uses this context for handshakes that begin from now on.
  void SetContext(std::shared_ptr<const DtlsContext> context) { context_ = std::move(context); }

  void OnDatagram(const coap::Peer& address, std::span<const uint8_t> datagram, int64_t now_us);

  // Sends a message. False if the session is not open. REQUIRES: IsSession(session).
  bool Send(const coap::Peer& session, std::string_view message);

  // The latest time for the next OnTime(), us; INT64_MAX = not needed.
  int64_t NextDeadline() const;
  void OnTime(int64_t now_us);

  // Ends all sessions with close_notify. OnEnded is not called.
  void Close();

  const DtlsCounters& counters() const { return counters_; }
  size_t handshakes() const { return handshakes_.size(); }
  size_t sessions() const { return sessions_.size(); }

  static bool IsSession(const coap::Peer& peer);
  // The next three REQUIRE IsSession(session).
  // Returns the worker whose server has the session.
  static uint32_t WorkerOf(const coap::Peer& session);
  // True if the session has proven a device id.
  static bool IsProven(const coap::Peer& session);
  static coap::Peer AddressOf(const coap::Peer& session);

 private:
  struct Connection;
  using Connections = std::list<std::unique_ptr<Connection>>;
  // The connections of an address.
  struct Entry {
    Connection* open = nullptr;
    Connection* starting = nullptr;
  };
  using Entries = std::unordered_map<coap::Peer, Entry, coap::PeerHash>;

  void OnHello(const coap::Peer& address, const ClientHello& hello,
               std::span<const uint8_t> datagram, int64_t now_us);
  void Start(const coap::Peer& address, const ClientHello& hello, std::span<const uint8_t> datagram,
             int64_t now_us);
  void Feed(Connection* connection, std::span<const uint8_t> datagram, int64_t now_us);
  void ReadAll(Connection* connection, int64_t now_us);
  // Continues after a step of a handshake. Returns false if the connection is gone.
  bool Advance(Connection* connection, int64_t now_us);
  void Open(Connection* connection, std::string device, int64_t now_us);
  void LimitSessionsOf(const std::string& device);
  void ArmRetransmission(Connection* connection, int64_t now_us);
  void EndHandshake(Connection* connection);
  void EndSession(Connection* connection, bool notify);
  void Forget(Connection* connection);

  DtlsHandler* const handler_;
  const DtlsLimits limits_;
  const uint32_t worker_;
  const HelloCookies cookies_;
  std::shared_ptr<const DtlsContext> context_;
  HandshakeBudget budget_;
  Connections handshakes_;  // oldest first
  Connections sessions_;    // silent longest first
  Entries entries_;
  std::unordered_map<uint64_t, Connection*> by_number_;  // open sessions
  // Open sessions by device, oldest first; no empty vector.
  std::unordered_map<std::string, std::vector<Connection*>, KeyedStringHash, std::equal_to<>>
      by_device_;
  std::set<std::pair<int64_t, Connection*>> retransmissions_;
  uint64_t last_number_ = 0;
  DtlsCounters counters_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_DTLS_DTLS_SERVER_H_
