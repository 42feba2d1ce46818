// The turns of an uplink thread. After each turn of its loop that had an event (a doorbell, an
// acknowledgement), every session on the express path is pumped once, the lowest order first. Then
// the thread naps if the load makes that worthwhile.
#ifndef SEGANET_BINDING_UPLINK_TURNS_H_
#define SEGANET_BINDING_UPLINK_TURNS_H_

#include <napi.h>
#include <uv.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/nap.h"
#include "core/uplink/uplink_moderation.h"

namespace seganet::binding {

// Thread safety: the thread of its environment. Deletes itself when the environment ends.
class UplinkTurns {
 public:
  // A session on the express path.
  struct Member {
    virtual ~Member() = default;
    // Pumps the session. May call JavaScript, and may remove members.
    virtual void Turn() = 0;
    virtual int order() const = 0;  // the lowest goes first
    // True if the session has more to send than room: the events that make room must not be
    // delayed.
    virtual bool is_waiting() const = 0;
    // Returns when the session needs a turn even without an event, CLOCK_MONOTONIC: 0 = at once,
    // kNever = never.
    virtual int64_t next_turn_us() const = 0;
  };

  // Returns the instance of the environment, or null if the environment is ending.
  static UplinkTurns* Of(Napi::Env env);

  // Adds and removes a member.
  void Join(Member* member);
  void Leave(Member* member);

  // Requests a turn of all members.
  void Ask() { is_wanted_ = true; }

  // Counts sent records, for the moderation.
  void Count(uint64_t records) { records_ += records; }

  // The naps of the thread, which a batch of class 1 ends.
  const std::shared_ptr<Nap>& nap() const { return nap_; }

  // True if the rate is so low that turns are not delayed.
  bool is_calm() const { return moderation_.interval_us() == 0; }

  // Ends a turn: naps if that is worthwhile.
  void Rest(bool is_waiting);

 private:
  explicit UplinkTurns(Napi::Env env);
  ~UplinkTurns() = default;

  static void OnCheck(uv_check_t* check);
  static void OnTime(uv_timer_t* timer);
  static void OnEnvironmentEnd(napi_async_cleanup_hook_handle hook, void* self);

  void TurnAll();
  void SetTimer();

  Napi::Env env_;
  napi_async_cleanup_hook_handle hook_ = nullptr;
  uv_check_t check_{};
  uv_timer_t timer_{};
  int open_handles_ = 2;
  std::vector<Member*> members_;  // by order
  bool is_wanted_ = false;
  bool is_over_ = false;
  uint64_t records_ = 0;
  const std::shared_ptr<Nap> nap_ = std::make_shared<Nap>();
  UplinkModeration moderation_;
};

// restUplink(records, isWaiting): ends a turn of JavaScript's own, in which it sent `records`.
void RestUplink(const Napi::CallbackInfo& info);

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_UPLINK_TURNS_H_
