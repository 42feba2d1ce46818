// Handles of libuv, and a uv_poll_t whose initialization may fail.
#ifndef SEGANET_CORE_LOOP_POLL_HANDLE_H_
#define SEGANET_CORE_LOOP_POLL_HANDLE_H_

#include <uv.h>

namespace seganet {

// Returns what libuv's functions for all handles take.
inline uv_handle_t* Handle(auto* handle) { return reinterpret_cast<uv_handle_t*>(handle); }

// Makes *poll watch `fd`. Returns 0, or libuv's error, for example if the kernel has no room for
// another watch. After an error, *poll never fires, but closes like any other handle. REQUIRES: the
// caller sets poll->data afterwards.
int InitPoll(uv_loop_t* loop, uv_poll_t* poll, int fd);

// Returns the result of uv_poll_start, or an error if InitPoll failed.
int StartPoll(uv_poll_t* poll, int events, uv_poll_cb on_event);

}  // namespace seganet

#endif  // SEGANET_CORE_LOOP_POLL_HANDLE_H_
