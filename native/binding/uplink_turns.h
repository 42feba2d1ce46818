// The turns of an uplink thread: what a turn of its loop has brought (doorbells, acknowledgements)
// leads to one pump of each session that is on the express path, the most urgent first, and then
// to a nap where the load wants one.
#ifndef SEGANET_BINDING_UPLINK_TURNS_H_
#define SEGANET_BINDING_UPLINK_TURNS_H_

#include <napi.h>
#include <uv.h>

#include <cstdint>
#include <vector>

#include "core/uplink/uplink_moderation.h"

namespace seganet::binding {

// Thread safety: the thread of its environment. It deletes itself when the environment ends.
class UplinkTurns {
 public:
  // A session that takes part.
  struct Member {
    virtual ~Member() = default;
    // May call JavaScript, and may take members out.
    virtual void Turn() = 0;
    virtual int order() const = 0;  // the lowest goes first
    // There is more to send than there is room for: what makes room must not wait.
    virtual bool is_waiting() const = 0;
    // When it wants a turn though nothing comes, CLOCK_MONOTONIC: 0 = at once, kNever = never.
    virtual int64_t next_turn_us() const = 0;
  };

  // Null when the environment ends.
  static UplinkTurns* Of(Napi::Env env);

  void Join(Member* member);
  void Leave(Member* member);

  // Asks for a turn of all.
  void Ask() { is_wanted_ = true; }

  // Records that went, for the moderation.
  void Count(uint64_t records) { records_ += records; }

  // The turn is over and nothing is left to do in it.
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
  UplinkModeration moderation_;
};

// restUplink(records, isWaiting): JavaScript's own turn is over; `records` went since the last.
void RestUplink(const Napi::CallbackInfo& info);

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_UPLINK_TURNS_H_
