#include "core/runtime/attended_sessions.h"

#include <unistd.h>

#include <utility>

#include "core/loop/poll_handle.h"

namespace seganet {
namespace {

// Time after which a session that was busy is tried again.
constexpr uint64_t kBusyMs = 1;

template <typename T>
uv_handle_t* Handle(T* handle) {
  return reinterpret_cast<uv_handle_t*>(handle);
}

}  // namespace

// Deleted when both handles are closed.
struct AttendedSessions::Attended {
  AttendedSessions* owner;
  std::shared_ptr<DirectSession> session;
  uint64_t attendance;
  int fd;
  uv_poll_t poll;
  uv_timer_t pause;
  bool is_late = false;  // it is read when `pause` ends
  int open_handles = 2;

  // Waits for `events`. Returns false if the kernel cannot watch the connection.
  bool Watch(int events) {
    return StartPoll(&poll, events, [](uv_poll_t* handle, int status, int) {
             auto* attended = static_cast<Attended*>(handle->data);
             // libuv watches no longer after an error, which the session's thread finds, too.
             if (status < 0) return attended->owner->Abandon(attended);
             attended->owner->Read(attended);
           }) == 0;
  }
};

AttendedSessions::Offer::Offer(std::shared_ptr<DirectSession> session, uint64_t attendance, int fd)
    : session_(std::move(session)), attendance_(attendance), fd_(fd) {}

AttendedSessions::Offer::~Offer() {
  if (!session_) return;
  close(fd_);
  session_->Abandon(attendance_);
}

void AttendedSessions::Add(Offer* offer) {
  auto* attended =
      new Attended{this, std::move(offer->session_), offer->attendance_, offer->fd_, {}, {}};
  all_.insert(attended);
  uv_timer_init(loop_, &attended->pause);
  const bool is_watched = InitPoll(loop_, &attended->poll, attended->fd) == 0;
  attended->poll.data = attended->pause.data = attended;
  if (!is_watched || !attended->Watch(UV_READABLE)) Abandon(attended);
}

void AttendedSessions::Read(Attended* attended) {
  if (std::exchange(attended->is_late, false)) {
    uv_timer_stop(&attended->pause);
    if (!attended->Watch(UV_READABLE)) return Abandon(attended);
  }
  switch (attended->session->Receive(attended->attendance)) {
    case DirectSession::Received::kAll:
      return;
    case DirectSession::Received::kLate:
      return ReadLate(attended);
    case DirectSession::Received::kOver:
      return Remove(attended);
    case DirectSession::Received::kBusy:
      break;
  }
  // The connection stays ready, so the loop would not rest.
  uv_poll_stop(&attended->poll);
  uv_timer_start(
      &attended->pause,
      [](uv_timer_t* timer) {
        auto* waiting = static_cast<Attended*>(timer->data);
        if (!waiting->Watch(UV_READABLE)) waiting->owner->Abandon(waiting);
      },
      kBusyMs, 0);
}

// The end of the connection is still noticed at once.
void AttendedSessions::ReadLate(Attended* attended) {
  if (!attended->Watch(UV_DISCONNECT)) return Abandon(attended);
  attended->is_late = true;
  uv_timer_start(
      &attended->pause,
      [](uv_timer_t* timer) {
        auto* waiting = static_cast<Attended*>(timer->data);
        waiting->owner->Read(waiting);
      },
      DirectSession::kLateMs, 0);
}

void AttendedSessions::Abandon(Attended* attended) {
  attended->session->Abandon(attended->attendance);
  Remove(attended);
}

void AttendedSessions::Remove(Attended* attended) {
  all_.erase(attended);
  const auto closed = [](uv_handle_t* handle) {
    auto* done = static_cast<Attended*>(handle->data);
    if (--done->open_handles > 0) return;
    close(done->fd);
    delete done;
  };
  uv_close(Handle(&attended->poll), closed);
  uv_close(Handle(&attended->pause), closed);
}

void AttendedSessions::Close() {
  while (!all_.empty()) Abandon(*all_.begin());
}

}  // namespace seganet
