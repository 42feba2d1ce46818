// JavaScript's InFlightWindow (native/index.d.ts): the packets in flight of an uplink session.
#ifndef SEGANET_BINDING_IN_FLIGHT_WINDOW_WRAP_H_
#define SEGANET_BINDING_IN_FLIGHT_WINDOW_WRAP_H_

#include <napi.h>

#include <memory>
#include <mutex>
#include <utility>

#include "core/uplink/in_flight_window.h"
#include "core/uplink/turn_lock.h"

namespace seganet::binding {

// Thread safety: the thread of its environment. Each method holds the turn of the connection that
// uses the window (UseTurn).
class InFlightWindowWrap : public Napi::ObjectWrap<InFlightWindowWrap> {
 public:
  static Napi::Function Define(Napi::Env env);

  // Returns null if the value is not an InFlightWindow.
  static InFlightWindowWrap* From(Napi::Value value);

  explicit InFlightWindowWrap(const Napi::CallbackInfo& info);

  const std::shared_ptr<InFlightWindow>& window() const { return window_; }

  // The window's user on other threads holds `turn` (DirectLine).
  void UseTurn(std::shared_ptr<TurnLock> turn) { turn_ = std::move(turn); }

 private:
  void SetLimit(const Napi::CallbackInfo& info);
  void SetCeiling(const Napi::CallbackInfo& info);
  Napi::Value Room(const Napi::CallbackInfo& info);
  void Wait(const Napi::CallbackInfo& info);
  void EndWait(const Napi::CallbackInfo& info);
  Napi::Value Open(const Napi::CallbackInfo& info);
  Napi::Value IsOpen(const Napi::CallbackInfo& info);
  void Close(const Napi::CallbackInfo& info);
  void Abandon(const Napi::CallbackInfo& info);
  void Reset(const Napi::CallbackInfo& info);
  Napi::Value Oldest(const Napi::CallbackInfo& info);
  Napi::Value IsPassed(const Napi::CallbackInfo& info);
  Napi::Value SentAt(const Napi::CallbackInfo& info);
  Napi::Value Ids(const Napi::CallbackInfo& info);
  Napi::Value Inflight(const Napi::CallbackInfo& info);
  Napi::Value Waiting(const Napi::CallbackInfo& info);
  Napi::Value Backlog(const Napi::CallbackInfo& info);

  // Returns the packet of the first argument. Returns null if it is not in flight, with an Error
  // pending.
  const Flight* FlightOf(const Napi::CallbackInfo& info, uint16_t* id) const;

  std::unique_lock<TurnLock> Hold() const;

  std::shared_ptr<InFlightWindow> window_ = std::make_shared<InFlightWindow>(1, 0);
  std::shared_ptr<TurnLock> turn_;  // null = no other thread uses the window
};

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_IN_FLIGHT_WINDOW_WRAP_H_
