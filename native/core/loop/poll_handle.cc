#include "core/loop/poll_handle.h"

namespace seganet {

static_assert(sizeof(uv_idle_t) <= sizeof(uv_poll_t));

int InitPoll(uv_loop_t* loop, uv_poll_t* poll, int fd) {
  const int error = uv_poll_init(loop, poll, fd);
  // The owner closes the handle in every case, so it must be an initialized handle.
  if (error != 0) uv_idle_init(loop, reinterpret_cast<uv_idle_t*>(poll));
  return error;
}

int StartPoll(uv_poll_t* poll, int events, uv_poll_cb on_event) {
  const bool is_poll = uv_handle_get_type(reinterpret_cast<const uv_handle_t*>(poll)) == UV_POLL;
  return is_poll ? uv_poll_start(poll, events, on_event) : UV_EBADF;
}

}  // namespace seganet
