// waitConnect(fd, timeoutMs, done): reports when a socket is connected, or why it is not. It runs
// on the loop of the environment, so it works on any thread that runs JavaScript.
#ifndef SEGANET_BINDING_SOCKET_SOCKET_WAIT_H_
#define SEGANET_BINDING_SOCKET_SOCKET_WAIT_H_

#include <napi.h>
#include <uv.h>

#include "core/base/status.h"

namespace seganet::binding {

// Calls done(error) once; native/index.js turns that into a promise. (A Node-API promise that is
// pending when its environment ends would leak.)
void WaitConnect(const Napi::CallbackInfo& info);

// A pending wait. Deletes itself when its handles are closed.
//
// Thread safety: the thread of its environment.
class ConnectWait {
 public:
  // Starts a wait. On failure, `done` is not called.
  static Status Start(Napi::Env env, int fd, uint64_t timeout_ms, Napi::Function done);

  // Ends the wait for this descriptor, if there is one, with ECANCELED.
  static void Cancel(Napi::Env env, int fd);

  ConnectWait(const ConnectWait&) = delete;
  ConnectWait& operator=(const ConnectWait&) = delete;

 private:
  ConnectWait(Napi::Env env, int fd) : env_(env), fd_(fd) {}
  ~ConnectWait() = default;

  static void OnPoll(uv_poll_t* poll, int status, int events);
  static void OnTime(uv_timer_t* timer);
  static void OnEnvironmentEnd(napi_async_cleanup_hook_handle hook, void* self);

  void Finish(int error);
  void CloseHandles();

  napi_env env_;
  int fd_;
  napi_ref done_ = nullptr;
  napi_async_cleanup_hook_handle hook_ = nullptr;
  uv_poll_t poll_{};
  uv_timer_t timer_{};
  int open_handles_ = 2;
  bool is_over_ = false;
};

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_SOCKET_SOCKET_WAIT_H_
