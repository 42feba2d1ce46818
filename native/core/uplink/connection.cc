#include "core/uplink/connection.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <utility>

#include "core/base/require.h"

namespace seganet {
namespace {

constexpr size_t kReadBytes = 65536;
// Maximum reads per event, so that other handles of the loop get their turn.
constexpr int kReadsPerTurn = 16;
// A larger output buffer is freed when it is empty, not kept for the next write.
constexpr size_t kKeptBytes = 262144;

#ifdef MSG_NOSIGNAL
constexpr int kSendFlags = MSG_NOSIGNAL;
#else
constexpr int kSendFlags = 0;  // the socket has SO_NOSIGPIPE, or the process ignores SIGPIPE
#endif

// The code is that of Node's TLSSocket.
const TlsFailure kBeforeTls{"ECONNRESET", "the far end closed the connection before TLS stood"};

int ErrorOf(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

bool IsLater(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

Connection::Connection(int fd, std::unique_ptr<TlsClient> tls, Listener* listener)
    : fd_(fd), tls_(std::move(tls)), listener_(listener), buffer_(kReadBytes) {}

Status Connection::Make(uv_loop_t* loop, int fd, std::unique_ptr<TlsClient> tls, Listener* listener,
                        Connection** connection) {
  auto* made = new Connection(fd, std::move(tls), listener);
  if (const int error = uv_poll_init(loop, &made->poll_, fd); error != 0) {
    delete made;  // libuv has no reference to it
    return Status::System("descriptor " + std::to_string(fd) + " cannot be waited for", -error);
  }
  uv_timer_init(loop, &made->due_);
  made->poll_.data = made->due_.data = made;
  if (made->tls_) made->tls_->Start();
  made->Watch();
  *connection = made;
  return {};
}

bool Connection::IsBroken() const {
  return error_ != 0 || (tls_ && tls_->state() == TlsClient::State::kFailed);
}

void Connection::Watch() {
  if (is_over_) return;
  // Not an event of the socket: one whose buffer is full is not writable.
  if (is_event_due_) uv_timer_start(&due_, OnDue, 0, 0);
  int events = 0;
  if ((!is_paused_ && !is_read_aside_) || !is_open_) events |= UV_READABLE;
  if (unsent() > 0) events |= UV_WRITABLE;
  // These are reported from the loop, so ask for an event.
  if ((!is_open_ && !tls_) || is_drain_due_ || IsBroken()) events |= UV_WRITABLE;
  if (events == watched_) return;
  watched_ = events;
  if (events == 0) {
    uv_poll_stop(&poll_);
  } else {
    uv_poll_start(&poll_, events, OnPoll);
  }
}

void Connection::OnPoll(uv_poll_t* poll, int status, int events) {
  static_cast<Connection*>(poll->data)->Handle(status < 0, (events & UV_READABLE) != 0);
}

void Connection::OnDue(uv_timer_t* due) {
  static_cast<Connection*>(due->data)->Handle(false, false);
}

void Connection::Handle(bool has_failed, bool is_readable) {
  // The listener may release the turn's owner.
  const std::shared_ptr<TurnLock> turn = turn_;
  std::unique_lock<TurnLock> lock;
  if (turn) lock = std::unique_lock(*turn);
  OnEvents(has_failed, is_readable);
}

// `has_failed`: libuv reported an error without its code, and stopped watching.
void Connection::OnEvents(bool has_failed, bool is_readable) {
  if (!tls_ && !is_open_) {
    is_open_ = true;
    listener_->OnOpen();
  }
  const bool is_due = std::exchange(is_event_due_, false);
  // What the other thread read precedes what follows in the socket, which may be the end.
  if (!is_over_ && is_due) {
    listener_->OnData({});
    // It may have read the end of TLS.
    if (!is_over_ && tls_) Decrypt();
  }
  // Before errors, so that data before the end of the connection is delivered.
  if (!is_over_ && (is_readable || is_due || has_failed || error_ != 0)) ReadAll(has_failed);
  if (!is_over_ && has_failed && error_ == 0) {
    error_ = ErrorOf(fd_);
    if (error_ == 0) error_ = EBADF;
  }
  if (!is_over_ && error_ != 0) Fail(error_);
  if (!is_over_ && IsBroken()) Decrypt();
  if (is_over_) return;
  Flush();
  const bool is_drained = is_drain_due_ && unsent() == 0 && !IsBroken();
  if (is_drained) is_drain_due_ = false;
  Watch();
  if (is_drained) listener_->OnDrained();
}

void Connection::ReadAll(bool has_failed) {
  // A write fails meanwhile if the listener sends.
  const auto has_ended = [&] { return has_failed || error_ != 0; };
  for (int reads = 0; has_ended() || reads < kReadsPerTurn; ++reads) {
    if (is_over_ || (is_paused_ && is_open_)) return;
    const ssize_t count = recv(fd_, buffer_.data(), buffer_.size(), 0);
    if (count < 0) {
      if (errno == EINTR) continue;
      if (!IsLater(errno)) Fail(error_ != 0 ? error_ : errno);
      return;
    }
    if (count == 0 && error_ != 0) return Fail(error_);
    if (count == 0) return End(is_open_ ? TlsFailure{} : kBeforeTls);
    const auto bytes = static_cast<size_t>(count);
    if (tls_) {
      tls_->Receive({buffer_.data(), bytes});
      Decrypt();
    } else {
      listener_->OnData({buffer_.data(), bytes});
    }
    // The socket is empty. After a failure read on, because the error comes last.
    if (bytes < buffer_.size() && !has_ended()) return;
  }
}

void Connection::Decrypt() {
  using State = TlsClient::State;
  if (!is_open_ && tls_->state() == State::kOpen) {
    is_open_ = true;
    listener_->OnOpen();
  }
  while (!is_over_ && is_open_) {
    const size_t count = tls_->Read(buffer_);
    if (count == 0) break;
    listener_->OnData({buffer_.data(), count});
  }
  if (is_over_) return;
  if (tls_->state() == State::kFailed) {
    Flush();  // the alert
    End(tls_->failure());
  } else if (tls_->state() == State::kEnded) {
    End(is_open_ ? TlsFailure{} : kBeforeTls);
  }
}

void Connection::Write(std::string_view bytes) {
  Put(bytes);
  Watch();
}

bool Connection::WriteAside(std::string_view bytes) {
  Put(bytes);
  return unsent() == 0 && !IsBroken();
}

int Connection::Duplicate() {
  const int fd = fcntl(fd_, F_DUPFD_CLOEXEC, 0);
  if (fd >= 0) has_duplicates_ = true;
  return fd;
}

bool Connection::ReadAside(const std::function<void(std::span<const uint8_t>)>& on_data) {
  SEGANET_REQUIRE(is_read_aside_);
  if (is_over_ || is_paused_ || error_ != 0 || IsBroken()) return false;
  const ssize_t count = recv(fd_, buffer_.data(), buffer_.size(), 0);
  if (count < 0 && IsLater(errno)) return true;
  if (count < 0) error_ = errno;
  if (count <= 0) return false;  // the loop finds the end again
  const std::span<const uint8_t> bytes(buffer_.data(), static_cast<size_t>(count));
  if (!tls_) {
    on_data(bytes);
    return true;
  }
  tls_->Receive(bytes);
  while (const size_t clear = tls_->Read(buffer_)) on_data({buffer_.data(), clear});
  Flush();  // what TLS itself answers
  return tls_->state() == TlsClient::State::kOpen && unsent() == 0 && error_ == 0;
}

void Connection::Put(std::string_view bytes) {
  SEGANET_REQUIRE(is_open_ || is_over_);
  if (is_over_ || error_ != 0 || is_finishing_) return;
  if (tls_) {
    tls_->Write(bytes);
  } else if (unsent() > 0) {
    // Remove sent bytes also if the buffer never becomes empty.
    if (sent_ >= unsent()) out_.erase(0, std::exchange(sent_, 0));
    out_.append(bytes);
  } else {
    // Usually the kernel accepts all bytes, and nothing is copied.
    const ssize_t count = send(fd_, bytes.data(), bytes.size(), kSendFlags);
    if (count < 0 && !IsLater(errno)) {
      error_ = errno;
    } else {
      out_.assign(bytes.substr(count < 0 ? 0 : static_cast<size_t>(count)));
      sent_ = 0;
    }
  }
  Flush();
  if (unsent() > 0) is_drain_due_ = true;
}

std::string_view Connection::ToSend() const {
  return tls_ ? tls_->pending() : std::string_view(out_).substr(sent_);
}

void Connection::Sent(size_t bytes) {
  if (tls_) return tls_->Sent(bytes);
  sent_ += bytes;
  if (sent_ < out_.size()) return;
  sent_ = 0;
  if (out_.capacity() > kKeptBytes) {
    out_ = {};
  } else {
    out_.clear();
  }
}

void Connection::Flush() {
  while (error_ == 0 && unsent() > 0) {
    const std::string_view bytes = ToSend();
    const ssize_t count = send(fd_, bytes.data(), bytes.size(), kSendFlags);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && IsLater(errno)) return;
    if (count < 0) {
      error_ = errno;
      return;
    }
    Sent(static_cast<size_t>(count));
  }
  if (error_ != 0) return;
  if (is_finishing_ && !is_shut_) {
    is_shut_ = true;
    shutdown(fd_, SHUT_WR);
  }
}

void Connection::Pause(bool is_paused) {
  is_paused_ = is_paused;
  Watch();
}

void Connection::Finish() {
  if (is_over_ || is_finishing_) return;
  if (tls_) tls_->Close();
  is_finishing_ = true;
  Flush();
  Watch();
}

void Connection::Fail(int error) {
  const std::string code = uv_err_name(-error);
  End({code, "uplink connection: " + code});
}

void Connection::End(const TlsFailure& why) {
  if (is_over_) return;
  is_over_ = true;
  uv_poll_stop(&poll_);
  listener_->OnEnd(why);
}

void Connection::Close(std::function<void()> closed) {
  if (is_closed_) return;
  is_closed_ = is_over_ = true;
  closed_ = std::move(closed);
  if (has_duplicates_) shutdown(fd_, SHUT_RDWR);
  uv_close(reinterpret_cast<uv_handle_t*>(&poll_), OnClosed);
  uv_close(reinterpret_cast<uv_handle_t*>(&due_), OnClosed);
}

void Connection::OnClosed(uv_handle_t* handle) {
  auto* connection = static_cast<Connection*>(handle->data);
  if (--connection->open_handles_ > 0) return;
  close(connection->fd_);
  const std::function<void()> callback = std::move(connection->closed_);
  delete connection;
  if (callback) callback();
}

}  // namespace seganet
