// The reception manager (SegaNet, "Architecture-aware agent management"): accepts devices'
// connections, reads as much of each as it takes to learn the device id, has the login checked
// where that is wanted, and hands the socket to the worker that owns the device.
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
#include "core/protocol/close_reason.h"
#include "core/reception/handshake.h"
#include "core/reception/pending_logins.h"

namespace seganet {

// A connection on its way to its worker.
struct Handoff {
  int fd = -1;
  uint32_t stage = 0;       // the source stage that listens
  std::string device;       // empty only when the session will refuse the CONNECT
  std::string bytes;        // read so far: the CONNECT and what came with it
  std::string address;      // of the far end, for people
  bool made_up_id = false;  // the device gave none
  size_t answered = 0;      // CoAP: messages within so many of the first bytes have their answer
  bool proven = false;      // by a login, a certificate or a key: `device` is no mere claim
};

enum class Transport : uint8_t { kTcp, kUdp, kStreams };

// How a source listens. Meanings: native/index.d.ts, ListenOptions.
struct ListenSpec {
  std::string host = "127.0.0.1";
  uint16_t port = 0;
  Transport transport = Transport::kTcp;
  int64_t connect_timeout_us = 10'000'000;
  bool ask_login = false;
  size_t max_half_open = 8192;
};

// A connection whose TLS or WebSocket ends elsewhere.
struct StreamPeer {
  std::string address;
  std::string device;  // that the far end has proved to be, empty = it has proved nothing
};

struct AcceptorOptions {
  size_t max_connections = 10'000;  // open and half-open together
  std::function<void()> on_sweep;   // called some times a second; may be empty
};

using CloseReasonCounters = std::array<SingleWriter, kCloseReasonCount>;

// Thread safety: all but the counters from any thread but its own.
class Acceptor : public LoopThread {
 public:
  // `dispatch` runs on the acceptor's thread and takes over the socket. `connections` counts
  // sockets that are open anywhere in the engine. `logins` outlives the acceptor.
  Acceptor(const AcceptorOptions& options, std::atomic<int64_t>* connections, LoginDesk* logins,
           std::function<void(Handoff)> dispatch);
  ~Acceptor() override;

  // Takes over a listening socket, -1 = only streams, for source stage `stage`, which must not
  // listen yet.
  // An error when its connections cannot be watched; the socket is closed then.
  Status Listen(uint32_t stage, int fd, const ListenSpec& spec, std::unique_ptr<Greeter> greeter);

  // Closes the stage's listener and its half-open connections, and waits until that is done.
  void Unlisten(uint32_t stage);

  // Takes over a connected socket as if it had been accepted. False, and the descriptor stays the
  // caller's, when the stage does not listen.
  bool Adopt(uint32_t stage, int fd, const StreamPeer& peer);

  // `device` = the id that it is let in as; nothing refuses it. False: nobody waits under this id.
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
  void Admit(Listener* listener, int fd, const StreamPeer& peer);
  void EvictOldest(Listener* listener);
  void CloseListener(uint32_t stage);
  void Sweep();

  // acceptor_half_open.cc
  void Poll(HalfOpen* connection, int events);
  void Read(HalfOpen* connection);
  void Say(HalfOpen* connection, std::string_view answer);
  void Introduce(HalfOpen* connection, Introduction introduction);
  void AskLogin(HalfOpen* connection, Introduction introduction);
  void HandOver(HalfOpen* connection, std::string device, bool proven);
  void Refuse(HalfOpen* connection, CloseReason reason, std::string_view answer);
  bool Hold(HalfOpen* connection, std::string_view bytes);
  void Forget(HalfOpen* connection);
  void Close(HalfOpen* connection);

  const AcceptorOptions options_;
  std::atomic<int64_t>* const connections_;
  LoginDesk* const logins_;
  const std::function<void(Handoff)> dispatch_;
  std::unordered_map<uint32_t, Listener*> listeners_;
  std::unordered_map<uint64_t, HalfOpen*> asked_;  // by id of the login
  std::list<HalfOpen*> large_;                     // that hold over kFreeBytes, oldest first
  size_t large_bytes_ = 0;                         // of those
  uint64_t last_login_ = 0;
  uv_timer_t sweep_;
  CounterBlock counters_;
  CloseReasonCounters close_reasons_;
};

struct Acceptor::Listener {
  Acceptor* acceptor;
  uint32_t stage;
  int fd;  // -1 = only streams
  ListenSpec spec;
  std::unique_ptr<Greeter> greeter;
  std::list<HalfOpen*> half_open;  // oldest first
  uv_poll_t poll;
};

struct Acceptor::HalfOpen {
  Listener* listener;
  int fd;
  int64_t deadline_us;
  StreamPeer peer;
  std::list<HalfOpen*>::iterator place;  // in its listener's
  std::string bytes;
  size_t large = 0;                            // of bytes, as counted in large_bytes_
  std::list<HalfOpen*>::iterator large_place;  // when large is not 0
  uint64_t login = 0;                          // that it waits for
  uint8_t level = 0;
  bool made_up_id = false;
  size_t answered = 0;  // Introduction::answered
  uv_poll_t poll;
};

}  // namespace seganet

#endif  // SEGANET_CORE_RECEPTION_ACCEPTOR_H_
