#include "core/reception/lingering_close.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "core/loop/poll_handle.h"

namespace seganet {

void LingeringClose::Take(uv_loop_t* loop, int fd, int64_t now_us) {
  if (waiting_.size() >= kMaxWaiting || shutdown(fd, SHUT_WR) != 0) {
    close(fd);
    return;
  }
  auto* waiting = new Waiting{this, fd, now_us + kPatienceUs, 0, {}, {}};
  waiting->place = waiting_.insert(waiting_.end(), waiting);
  InitPoll(loop, &waiting->poll, fd);  // if this fails, the deadline closes the socket
  waiting->poll.data = waiting;
  // After an error, libuv stops watching the socket. Then Read gets the error, or the deadline
  // closes the socket.
  StartPoll(&waiting->poll, UV_READABLE, [](uv_poll_t* poll, int, int) {
    auto* ready = static_cast<Waiting*>(poll->data);
    ready->owner->Read(ready);
  });
}

void LingeringClose::Read(Waiting* waiting) {
  char buffer[4096];
  const ssize_t n = recv(waiting->fd, buffer, sizeof buffer, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n > 0) waiting->bytes += static_cast<size_t>(n);
  if (n <= 0 || waiting->bytes > kMaxBytes) Close(waiting);
}

void LingeringClose::Close(Waiting* waiting) {
  waiting_.erase(waiting->place);
  const int fd = waiting->fd;
  uv_close(reinterpret_cast<uv_handle_t*>(&waiting->poll),
           [](uv_handle_t* handle) { delete static_cast<Waiting*>(handle->data); });
  close(fd);
}

void LingeringClose::Sweep(int64_t now_us) {
  while (!waiting_.empty() && waiting_.front()->deadline_us <= now_us) Close(waiting_.front());
}

void LingeringClose::CloseAll() {
  while (!waiting_.empty()) Close(waiting_.front());
}

}  // namespace seganet
