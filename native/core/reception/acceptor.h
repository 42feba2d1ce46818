// The reception manager (SegaNet, "Architecture-aware agent management"): accepts devices'
// connections, reads as much of each as is needed to learn the device id, has the login checked if
// the listener asks for logins, and hands the socket to the worker that owns the device.
#ifndef SEGANET_CORE_RECEPTION_ACCEPTOR_H_
#define SEGANET_CORE_RECEPTION_ACCEPTOR_H_

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "core/base/counters.h"
#include "core/loop/loop_thread.h"
#include "core/loop/sweep_timer.h"
#include "core/protocol/close_reason.h"
#include "core/reception/desk_options.h"
#include "core/reception/handshake.h"
#include "core/reception/pending_logins.h"
#include "core/reception/proxies.h"

namespace seganet {

// A connection that the acceptor hands to its worker.
struct Handoff {
  int fd = -1;
  uint32_t stage = 0;       // the source stage that listens
  std::string device;       // empty only when the session will refuse the CONNECT
  std::string bytes;        // read so far: the CONNECT and what came with it
  std::string address;      // of the peer, for display
  bool made_up_id = false;  // the device sent no id, and the gateway generated one
  size_t answered = 0;      // CoAP: messages within this many first bytes have been answered
  bool proven = false;      // a login, a certificate or a key has proven `device`
  // Not null: the requests go to the request desk, and `device` is empty.
  std::shared_ptr<const DeskOptions> desk;
  uint64_t connection = 0;  // RequestDesk::Open
  std::string note;         // StreamPeer::note
};

enum class Transport : uint8_t { kTcp, kUdp, kStreams, kDtls };

class DtlsContext;

// How a source listens.
struct ListenSpec {
  std::string host = "127.0.0.1";  // a numeric address
  uint16_t port = 0;               // 0 = any free port
  // kStreams: no port; connections come only from Acceptor::Adopt.
  Transport transport = Transport::kTcp;
  int64_t connect_timeout_us = 10'000'000;  // half-open connections older than this are closed
  bool ask_login = false;                   // each login waits for Acceptor::AnswerLogin
  // Maximum number of half-open connections. One more, or one over the engine's limit of
  // connections, closes the oldest of them.
  // With kDtls: handshakes in progress, of all workers.
  size_t max_half_open = 8192;
  // kDtls only.
  std::shared_ptr<const DtlsContext> dtls;   // REQUIRED, not null
  int64_t session_idle_us = 86'400'000'000;  // silent sessions are ended after this time
  // kTcp: connections from these begin with a PROXY header, which names their device's address.
  Proxies proxies;
  // CoAP over kTcp and kStreams: the requests go to the request desk; null = they do not.
  std::shared_ptr<const DeskOptions> desk;
};

// A connection whose TLS or WebSocket terminates outside of the engine.
struct StreamPeer {
  std::string address;  // for display
  std::string device;   // the id that the peer has proven; empty = it has proven none
  std::string note;     // for the request desk, for example of the peer's certificate
};

struct AcceptorOptions {
  size_t max_connections = 10'000;  // open and half-open together
  // Called by each sweep, see SweepTimer; may be empty. Returns true if nothing waits for the next.
  std::function<bool()> on_sweep;
};

using CloseReasonCounters = std::array<SingleWriter, kCloseReasonCount>;

// Thread safety: Listen, Unlisten, Adopt and AnswerLogin from any thread but the acceptor's own;
// the counters from any thread.
class Acceptor : public LoopThread {
 public:
  // `dispatch` runs on the acceptor's thread and takes ownership of the socket. `connections`
  // counts all open sockets of the engine. `logins` outlives the acceptor.
  Acceptor(const AcceptorOptions& options, std::atomic<int64_t>* connections, PendingLogins* logins,
           std::function<void(Handoff)> dispatch);
  ~Acceptor() override;

  // Accepts connections for source stage `stage` on the listening socket `fd`, which the acceptor
  // owns from now on; -1 = only streams. Returns an error if the socket cannot be watched; it is
  // closed then. REQUIRES: the stage does not listen yet.
  Status Listen(uint32_t stage, int fd, const ListenSpec& spec,
                std::unique_ptr<Handshake> handshake);

  // Closes the stage's listener and its half-open connections, and waits until they are closed.
  void Unlisten(uint32_t stage);

  // Treats the connected socket `fd` as an accepted connection and takes ownership of it. Returns
  // false if the stage does not listen; the caller keeps the socket then.
  bool Adopt(uint32_t stage, int fd, const StreamPeer& peer);

  // Ends a pending login: `device` is the id under which the device is accepted; nothing refuses
  // the login. Returns false if no connection waits under `id`.
  bool AnswerLogin(uint64_t id, std::optional<std::string> device);

  const CounterBlock& counters() const { return counters_; }
  const CloseReasonCounters& close_reasons() const { return close_reasons_; }

 private:
  struct Listener;
  struct HalfOpen;

  void OnStart() override;
  void OnStop() override;

  void Poll(Listener* listener);
  void Accept(Listener* listener);
  void Admit(Listener* listener, int fd, const StreamPeer& peer, bool is_proxied);
  void EvictOldest(Listener* listener);
  void CloseListener(uint32_t stage);
  bool Sweep();

  // acceptor_half_open.cc
  void Poll(HalfOpen* connection, int events);
  void Read(HalfOpen* connection);
  void Say(HalfOpen* connection, std::string_view answer);
  void Introduce(HalfOpen* connection, Introduction introduction);
  void AskLogin(HalfOpen* connection, Introduction introduction);
  void HandOver(HalfOpen* connection, std::string device, bool proven);
  void Refuse(HalfOpen* connection, CloseReason reason, std::string_view answer);
  bool Hold(HalfOpen* connection, std::string_view bytes);
  bool TakeProxyHeader(HalfOpen* connection);
  void Forget(HalfOpen* connection);
  void Close(HalfOpen* connection);

  const AcceptorOptions options_;
  std::atomic<int64_t>* const connections_;
  PendingLogins* const logins_;
  const std::function<void(Handoff)> dispatch_;
  std::unordered_map<uint32_t, Listener*> listeners_;
  std::unordered_map<uint64_t, HalfOpen*> asked_;  // by id of the login
  std::list<HalfOpen*> large_;                     // those with over kFreeBytes, oldest first
  size_t large_bytes_ = 0;                         // held by large_
  uint64_t last_login_ = 0;
  SweepTimer sweep_{[this] { return Sweep(); }};
  CounterBlock counters_;
  CloseReasonCounters close_reasons_;
};

struct Acceptor::Listener {
  Acceptor* acceptor;
  uint32_t stage;
  int fd;  // -1 = only streams
  ListenSpec spec;
  std::unique_ptr<Handshake> handshake;
  std::list<HalfOpen*> half_open;  // oldest first
  uv_poll_t poll;
};

struct Acceptor::HalfOpen {
  Listener* listener;
  int fd;
  int64_t deadline_us;
  StreamPeer peer;
  std::list<HalfOpen*>::iterator place;  // in Listener::half_open
  std::string bytes;
  size_t large = 0;                            // its part of large_bytes_
  std::list<HalfOpen*>::iterator large_place;  // when large is not 0
  uint64_t login = 0;                          // id of its pending login; 0 = none
  uint8_t level = 0;
  bool made_up_id = false;
  bool is_proxied = false;  // a PROXY header is to come
  size_t answered = 0;      // Introduction::answered
  uv_poll_t poll;
};

}  // namespace seganet

#endif  // SEGANET_CORE_RECEPTION_ACCEPTOR_H_
