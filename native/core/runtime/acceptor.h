// The reception manager (SegaNet, "Architecture-aware agent management"): accepts devices'
// connections, reads each one's CONNECT to learn the device id, and hands the socket to the worker
// that owns the device.
#ifndef SEGANET_CORE_RUNTIME_ACCEPTOR_H_
#define SEGANET_CORE_RUNTIME_ACCEPTOR_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "core/base/counters.h"
#include "core/protocol/close_reason.h"
#include "core/runtime/loop_thread.h"

namespace seganet {

// A connection on its way to its worker.
struct Handoff {
  int fd = -1;
  uint32_t stage = 0;       // the source stage that listens
  std::string device;       // empty only when the session will refuse the CONNECT
  std::string bytes;        // read so far: the CONNECT and what came with it
  std::string address;      // of the far end, for people
  bool made_up_id = false;  // the device gave none
};

enum class Transport : uint8_t { kTcp, kUdp, kStreams };

// How a source listens. Meanings: native/index.d.ts, ListenOptions.
struct ListenSpec {
  std::string host;
  uint16_t port = 0;
  Transport transport = Transport::kTcp;
  int64_t connect_timeout_us = 10'000'000;
  bool ask_login = false;
  size_t max_half_open = 1000;
};

struct AcceptorOptions {
  size_t max_connections = 10'000;  // open and half-open together
  size_t max_connect_bytes = 65'536;
  std::function<void()> on_sweep;  // called some times a second; may be empty
};

using CloseReasonCounters = std::array<SingleWriter, kCloseReasonCount>;

// Thread safety: Listen and Unlisten from any thread but its own.
class Acceptor : public LoopThread {
 public:
  // `dispatch` runs on the acceptor's thread and takes over the socket. `connections` counts
  // sockets that are open anywhere in the engine.
  Acceptor(const AcceptorOptions& options, std::atomic<int64_t>* connections,
           std::function<void(Handoff)> dispatch);
  ~Acceptor() override;

  // Takes over a listening socket for source stage `stage`, which must not listen yet.
  void Listen(uint32_t stage, int fd, int64_t connect_timeout_us);

  // Closes the stage's listener and its half-open connections, and waits until that is done.
  void Unlisten(uint32_t stage);

  const CounterBlock& counters() const { return counters_; }
  const CloseReasonCounters& close_reasons() const { return close_reasons_; }

 private:
  struct Listener;
  struct HalfOpen;

  void OnStart() override;
  void OnStop() override;

  void Poll(Listener* listener);
  void Accept(Listener* listener);
  void Admit(const Listener& listener, int fd);
  void Read(HalfOpen* connection);
  void HandOver(HalfOpen* connection, std::string device);
  void Refuse(HalfOpen* connection, CloseReason reason, std::string_view answer);
  void Forget(HalfOpen* connection);
  void Close(HalfOpen* connection);
  void CloseListener(uint32_t stage);
  void Sweep();

  const AcceptorOptions options_;
  std::atomic<int64_t>* const connections_;
  const std::function<void(Handoff)> dispatch_;
  std::unordered_map<uint32_t, Listener*> listeners_;
  std::unordered_set<HalfOpen*> half_open_;
  uv_timer_t sweep_;
  CounterBlock counters_;
  CloseReasonCounters close_reasons_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_ACCEPTOR_H_
