// uv_poll_t whose set-up may fail.
#ifndef SEGANET_CORE_LOOP_POLL_HANDLE_H_
#define SEGANET_CORE_LOOP_POLL_HANDLE_H_

#include <uv.h>

namespace seganet {

// Makes *poll watch `fd`. Returns 0 or libuv's error, for example when the kernel has no room for
// another watch; *poll then never fires, and closes like any other handle. REQUIRES: the caller
// sets poll->data afterwards.
int InitPoll(uv_loop_t* loop, uv_poll_t* poll, int fd);

// uv_poll_start, or an error when InitPoll failed.
int StartPoll(uv_poll_t* poll, int events, uv_poll_cb on_event);

}  // namespace seganet

#endif  // SEGANET_CORE_LOOP_POLL_HANDLE_H_
