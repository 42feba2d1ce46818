#include "core/runtime/attended_sessions.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/base/clock.h"
#include "core/loop/poll_handle.h"

namespace seganet {
namespace {

// Time after which a session that was busy is tried again.
constexpr uint64_t kBusyMs = 1;

}  // namespace

// Deleted when both handles are closed.
struct AttendedSessions::Attended {
  AttendedSessions* owner;
  std::shared_ptr<DirectSession> session;
  uint64_t attendance;
  int fd;
  uv_poll_t poll;
  uv_timer_t pause;
  bool is_late = false;    // it is read when `pause` ends
  int64_t read_at_us = 0;  // is_late: when that is
  int watched = 0;         // events
  int open_handles = 2;

  // Waits for `events`. Returns false if the kernel cannot watch the connection.
  bool Watch(int events) {
    if (events == watched) return true;
    watched = events;
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
  if (std::exchange(attended->is_late, false)) uv_timer_stop(&attended->pause);
  switch (attended->session->Receive(attended->attendance)) {
    case DirectSession::Received::kAll:
      if (!attended->Watch(UV_READABLE)) Abandon(attended);
      return;
    case DirectSession::Received::kLate:
      // The end of the connection is still noticed at once.
      if (!attended->Watch(UV_DISCONNECT)) return Abandon(attended);
      attended->is_late = true;
      ReadAt(attended, attended->session->read_at_us());
      return;
    case DirectSession::Received::kOver:
      return Remove(attended);
    case DirectSession::Received::kBusy:
      break;
  }
  // The connection stays ready, so the loop would not rest.
  attended->watched = 0;
  uv_poll_stop(&attended->poll);
  uv_timer_start(
      &attended->pause,
      [](uv_timer_t* timer) {
        auto* waiting = static_cast<Attended*>(timer->data);
        if (!waiting->Watch(UV_READABLE)) waiting->owner->Abandon(waiting);
      },
      kBusyMs, 0);
}

void AttendedSessions::ReadAt(Attended* attended, int64_t at_us) {
  attended->read_at_us = at_us;
  const int64_t wait_us = std::max<int64_t>(0, at_us - MonotonicUs());
  uv_update_time(loop_);
  uv_timer_start(
      &attended->pause,
      [](uv_timer_t* timer) {
        auto* waiting = static_cast<Attended*>(timer->data);
        waiting->owner->Read(waiting);
      },
      static_cast<uint64_t>(wait_us + 999) / 1000, 0);
}

void AttendedSessions::EndTurn() {
  for (auto it = all_.begin(); it != all_.end();) {
    Attended* const attended = *it++;
    if (!attended->is_late) continue;
    const int64_t at_us = attended->session->read_at_us();
    if (at_us == attended->read_at_us) continue;
    if (at_us != DirectSession::kAtOnce) {
      ReadAt(attended, at_us);
      continue;
    }
    attended->is_late = false;
    uv_timer_stop(&attended->pause);
    if (!attended->Watch(UV_READABLE)) Abandon(attended);
  }
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
