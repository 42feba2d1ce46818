#include "binding/socket/socket_wait.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <string>

#include "binding/node/args.h"
#include "binding/node/environment.h"

namespace seganet::binding {
namespace {

// Returns 0 if the socket is connected, otherwise an errno.
int ConnectError(int fd) {
  int error = 0;
  socklen_t length = sizeof(error);
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) return errno;
  if (error != 0) return error;
  // The kernel reports the error only once. A socket whose connect failed earlier has no error
  // anymore, but no peer either.
  sockaddr_storage peer;
  length = sizeof(peer);
  return getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) == 0 ? 0 : errno;
}

}  // namespace

void WaitConnect(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  int fd = -1;
  int timeout_ms = 0;
  if (!ReadInt(env, info[0], "fd", 0, INT_MAX, &fd) ||
      !ReadInt(env, info[1], "timeoutMs", 1, INT_MAX, &timeout_ms)) {
    return;
  }
  if (!info[2].IsFunction()) {
    Napi::TypeError::New(env, "done must be a function").ThrowAsJavaScriptException();
    return;
  }
  const auto patience = static_cast<uint64_t>(timeout_ms);
  const Status status = ConnectWait::Start(env, fd, patience, info[2].As<Napi::Function>());
  if (!status.ok()) Throw(env, status);
}

Status ConnectWait::Start(Napi::Env env, int fd, uint64_t timeout_ms, Napi::Function done) {
  auto& table = Environment::Of(env)->connect_waits;
  const std::string descriptor = "descriptor " + std::to_string(fd);
  if (table.contains(fd))
    return Status::System("another call already waits for " + descriptor, EEXIST);
  uv_loop_t* loop = nullptr;
  napi_get_uv_event_loop(env, &loop);
  auto* wait = new ConnectWait(env, fd);
  if (const int error = uv_poll_init(loop, &wait->poll_, fd); error != 0) {
    delete wait;  // libuv has no reference to it
    return Status::System("cannot wait for " + descriptor, -error);
  }
  wait->poll_.data = wait->timer_.data = wait;
  uv_timer_init(loop, &wait->timer_);
  napi_create_reference(env, done, 1, &wait->done_);
  napi_add_async_cleanup_hook(env, OnEnvironmentEnd, wait, &wait->hook_);
  table.emplace(fd, wait);
  uv_update_time(loop);  // otherwise it is the time at the beginning of this turn
  uv_timer_start(&wait->timer_, OnTime, timeout_ms, 0);
  uv_poll_start(&wait->poll_, UV_WRITABLE, OnPoll);
  return {};
}

void ConnectWait::Cancel(Napi::Env env, int fd) {
  const auto& table = Environment::Of(env)->connect_waits;
  if (const auto it = table.find(fd); it != table.end()) it->second->Finish(ECANCELED);
}

// libuv reports an error alone as a status, and an error together with the end of the stream as an
// event.
void ConnectWait::OnPoll(uv_poll_t* poll, int status, int) {
  auto* wait = static_cast<ConnectWait*>(poll->data);
  const int error = ConnectError(wait->fd_);
  wait->Finish(error == 0 && status < 0 ? -status : error);
}

// A loop that was busy for the whole timeout runs its timers before it polls its sockets.
void ConnectWait::OnTime(uv_timer_t* timer) {
  auto* wait = static_cast<ConnectWait*>(timer->data);
  pollfd now{wait->fd_, POLLOUT, 0};
  wait->Finish(poll(&now, 1, 0) > 0 ? ConnectError(wait->fd_) : ETIMEDOUT);
}

void ConnectWait::Finish(int error) {
  const Napi::Env env(env_);
  const Napi::HandleScope scope(env);
  napi_value done = nullptr;
  napi_get_reference_value(env_, done_, &done);
  // First, so that `done` can create a socket from the descriptor.
  CloseHandles();
  napi_value reason = env.Undefined();
  if (error != 0) {
    reason = SystemError(env, std::string("connect ") + uv_err_name(-error), error).Value();
  }
  CallFromLoop(env, Napi::Function(env_, done), {reason});
}

// Closes the descriptor as well: after Forget, nothing else does.
void ConnectWait::OnEnvironmentEnd(napi_async_cleanup_hook_handle, void* self) {
  auto* wait = static_cast<ConnectWait*>(self);
  if (wait->is_over_) return;
  if (Environment* own = Environment::Of(wait->env_)) own->open_sockets.Forget(wait->fd_);
  wait->CloseHandles();
  close(wait->fd_);
}

// The environment ends only when the handles are closed, so the hook stays until then.
void ConnectWait::CloseHandles() {
  is_over_ = true;
  if (Environment* own = Environment::Of(env_)) own->connect_waits.erase(fd_);
  napi_delete_reference(env_, done_);
  const auto closed = [](uv_handle_t* handle) {
    auto* wait = static_cast<ConnectWait*>(handle->data);
    if (--wait->open_handles_ > 0) return;
    napi_remove_async_cleanup_hook(wait->hook_);
    delete wait;
  };
  uv_close(reinterpret_cast<uv_handle_t*>(&poll_), closed);
  uv_close(reinterpret_cast<uv_handle_t*>(&timer_), closed);
}

}  // namespace seganet::binding
