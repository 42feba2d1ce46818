#include "binding/uplink_turns.h"

#include <algorithm>

#include "binding/node/args.h"
#include "binding/node/environment.h"
#include "core/base/clock.h"

namespace seganet::binding {

UplinkTurns* UplinkTurns::Of(Napi::Env env) {
  Environment* const own = Environment::Of(env);
  if (!own) return nullptr;
  if (!own->uplink_turns) own->uplink_turns = new UplinkTurns(env);
  return own->uplink_turns->is_over_ ? nullptr : own->uplink_turns;
}

UplinkTurns::UplinkTurns(Napi::Env env)
    : env_(env), moderation_(MonotonicUs(), [this](int64_t us) { return nap_->Sleep(us); }) {
  uv_loop_t* loop = nullptr;
  napi_get_uv_event_loop(env, &loop);
  check_.data = timer_.data = this;
  uv_check_init(loop, &check_);
  uv_timer_init(loop, &timer_);
  // These handles must not keep the thread alive; sockets and doorbells do.
  uv_unref(reinterpret_cast<uv_handle_t*>(&check_));
  uv_unref(reinterpret_cast<uv_handle_t*>(&timer_));
  napi_add_async_cleanup_hook(env, OnEnvironmentEnd, this, &hook_);
}

void UplinkTurns::OnEnvironmentEnd(napi_async_cleanup_hook_handle, void* self) {
  auto* turns = static_cast<UplinkTurns*>(self);
  turns->is_over_ = true;
  turns->members_.clear();
  // The environment ends only when the handles are closed, so the hook stays until then.
  const auto closed = [](uv_handle_t* handle) {
    auto* done = static_cast<UplinkTurns*>(handle->data);
    if (--done->open_handles_ > 0) return;
    if (Environment* own = Environment::Of(done->env_)) own->uplink_turns = nullptr;
    napi_remove_async_cleanup_hook(done->hook_);
    delete done;
  };
  uv_close(reinterpret_cast<uv_handle_t*>(&turns->check_), closed);
  uv_close(reinterpret_cast<uv_handle_t*>(&turns->timer_), closed);
}

void UplinkTurns::Join(Member* member) {
  const auto at = std::find_if(members_.begin(), members_.end(), [member](const Member* other) {
    return other->order() > member->order();
  });
  members_.insert(at, member);
  uv_check_start(&check_, OnCheck);
  Ask();
  // The loop may be about to wait for events.
  uv_timer_start(&timer_, OnTime, 0, 0);
}

void UplinkTurns::Leave(Member* member) {
  std::erase(members_, member);
  if (!members_.empty() || is_over_) return;
  uv_check_stop(&check_);
  uv_timer_stop(&timer_);
}

void UplinkTurns::OnCheck(uv_check_t* check) {
  auto* turns = static_cast<UplinkTurns*>(check->data);
  if (turns->is_wanted_) turns->TurnAll();
}

void UplinkTurns::OnTime(uv_timer_t* timer) { static_cast<UplinkTurns*>(timer->data)->TurnAll(); }

void UplinkTurns::TurnAll() {
  const Napi::HandleScope scope(env_);
  is_wanted_ = false;
  nap_->Begin();
  bool is_waiting = false;
  // A turn may call JavaScript, which may remove members.
  const std::vector<Member*> all = members_;
  for (Member* member : all) {
    if (std::find(members_.begin(), members_.end(), member) == members_.end()) continue;
    member->Turn();
  }
  for (const Member* member : members_) is_waiting |= member->is_waiting();
  if (is_over_ || members_.empty()) return;
  Rest(is_waiting);
  SetTimer();
}

void UplinkTurns::SetTimer() {
  int64_t next_us = kNever;
  for (const Member* member : members_) next_us = std::min(next_us, member->next_turn_us());
  if (next_us == kNever) {
    uv_timer_stop(&timer_);
    return;
  }
  const int64_t wait_us = next_us == 0 ? 0 : std::max<int64_t>(0, next_us - MonotonicUs());
  uv_update_time(timer_.loop);  // otherwise it is the time at the beginning of this turn
  uv_timer_start(&timer_, OnTime, static_cast<uint64_t>((wait_us + 999) / 1000), 0);
}

void UplinkTurns::Rest(bool is_waiting) { moderation_.Rest(MonotonicUs(), records_, is_waiting); }

void RestUplink(const Napi::CallbackInfo& info) {
  uint32_t records = 0;
  if (!ReadInt<uint32_t>(info.Env(), info[0], "records", 0, UINT32_MAX, &records)) return;
  UplinkTurns* const turns = UplinkTurns::Of(info.Env());
  if (!turns) return;
  turns->Count(records);
  turns->Rest(info[1].ToBoolean().Value());
}

}  // namespace seganet::binding
