#include "core/loop/poll_handle.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace seganet {
namespace {

TEST(PollHandle, OneThatCannotWatchClosesLikeAnyOther) {
  uv_loop_t loop;
  ASSERT_EQ(uv_loop_init(&loop), 0);
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);  // epoll does not support files
  ASSERT_GE(file, 0);
  uv_poll_t poll;
  EXPECT_NE(InitPoll(&loop, &poll, file), 0);
  EXPECT_NE(StartPoll(&poll, UV_READABLE, [](uv_poll_t*, int, int) { FAIL(); }), 0);
  bool closed = false;
  poll.data = &closed;
  uv_close(reinterpret_cast<uv_handle_t*>(&poll),
           [](uv_handle_t* handle) { *static_cast<bool*>(handle->data) = true; });
  uv_run(&loop, UV_RUN_DEFAULT);
  EXPECT_TRUE(closed);
  EXPECT_EQ(uv_loop_close(&loop), 0);
  close(file);
}

}  // namespace
}  // namespace seganet
