#include "core/uplink/connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace seganet {
namespace {

constexpr size_t kReadBytes = 65536;
// Then others of the loop have their turn.
constexpr int kReadsATurn = 16;
// A large write must not keep its memory for ever.
constexpr size_t kKeptBytes = 262144;

#ifdef MSG_NOSIGNAL
constexpr int kSendFlags = MSG_NOSIGNAL;
#else
constexpr int kSendFlags = 0;  // the socket has SO_NOSIGPIPE, or the process ignores the signal
#endif

// As Node says it.
const TlsFailure kBeforeTls{"ECONNRESET", "the far end closed the connection before TLS stood"};

int ErrorOf(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

bool IsLater(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

Wire::Wire(int fd, std::unique_ptr<TlsClient> tls, Listener* listener)
    : fd_(fd), tls_(std::move(tls)), listener_(listener), buffer_(kReadBytes) {}

Status Wire::Make(uv_loop_t* loop, int fd, std::unique_ptr<TlsClient> tls, Listener* listener,
                  Wire** wire) {
  auto* made = new Wire(fd, std::move(tls), listener);
  if (const int error = uv_poll_init(loop, &made->poll_, fd); error != 0) {
    delete made;  // libuv holds nothing of it
    return Status::System("descriptor " + std::to_string(fd) + " cannot be waited for", -error);
  }
  made->poll_.data = made;
  if (made->tls_) made->tls_->Start();
  made->Watch();
  *wire = made;
  return {};
}

bool Wire::IsBroken() const {
  return error_ != 0 || (tls_ && tls_->state() == TlsClient::State::kFailed);
}

void Wire::Watch() {
  if (is_over_) return;
  int events = 0;
  if (!is_paused_ || !is_open_) events |= UV_READABLE;
  if (unsent() > 0) events |= UV_WRITABLE;
  // To tell it from the loop.
  if ((!is_open_ && !tls_) || is_drain_due_ || IsBroken()) events |= UV_WRITABLE;
  if (events == watched_) return;
  watched_ = events;
  if (events == 0) {
    uv_poll_stop(&poll_);
  } else {
    uv_poll_start(&poll_, events, OnPoll);
  }
}

void Wire::OnPoll(uv_poll_t* poll, int status, int events) {
  auto* wire = static_cast<Wire*>(poll->data);
  wire->OnEvents(status < 0, (events & UV_READABLE) != 0);
}

// `has_failed`: libuv tells so without saying why, and watches no more.
void Wire::OnEvents(bool has_failed, bool is_readable) {
  if (!tls_ && !is_open_) {
    is_open_ = true;
    listener_->OnOpen();
  }
  // First: what was said before an end is heard.
  if (!is_over_ && (is_readable || has_failed)) ReadAll(has_failed);
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

void Wire::ReadAll(bool has_failed) {
  for (int reads = 0; has_failed || reads < kReadsATurn; ++reads) {
    if (is_over_ || (is_paused_ && is_open_)) return;
    const ssize_t count = recv(fd_, buffer_.data(), buffer_.size(), 0);
    if (count < 0) {
      if (errno == EINTR) continue;
      if (!IsLater(errno)) Fail(errno);
      return;
    }
    if (count == 0) return End(is_open_ ? TlsFailure{} : kBeforeTls);
    const auto bytes = static_cast<size_t>(count);
    if (tls_) {
      tls_->Receive({buffer_.data(), bytes});
      Decrypt();
    } else {
      listener_->OnData({buffer_.data(), bytes});
    }
    // There was no more when it was read; of what has failed, the reason comes last.
    if (bytes < buffer_.size() && !has_failed) return;
  }
}

void Wire::Decrypt() {
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

void Wire::Write(std::string_view bytes) {
  if (is_over_ || error_ != 0 || is_finishing_) return;
  if (tls_) {
    tls_->Write(bytes);
  } else if (unsent() > 0) {
    // While the kernel is never done, what it has taken must not stay.
    if (sent_ >= unsent()) out_.erase(0, std::exchange(sent_, 0));
    out_.append(bytes);
  } else {
    // Most often the kernel takes all of it, and nothing is copied.
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
  Watch();
}

std::string_view Wire::ToSend() const {
  return tls_ ? tls_->pending() : std::string_view(out_).substr(sent_);
}

void Wire::Sent(size_t bytes) {
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

void Wire::Flush() {
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

void Wire::Pause(bool is_paused) {
  is_paused_ = is_paused;
  Watch();
}

void Wire::Finish() {
  if (is_over_ || is_finishing_) return;
  if (tls_) tls_->Close();
  is_finishing_ = true;
  Flush();
  Watch();
}

void Wire::Fail(int error) {
  const std::string code = uv_err_name(-error);
  End({code, "uplink connection: " + code});
}

void Wire::End(const TlsFailure& why) {
  if (is_over_) return;
  is_over_ = true;
  uv_poll_stop(&poll_);
  listener_->OnEnd(why);
}

void Wire::Close(std::function<void()> closed) {
  if (is_closed_) return;
  is_closed_ = is_over_ = true;
  closed_ = std::move(closed);
  uv_close(reinterpret_cast<uv_handle_t*>(&poll_), [](uv_handle_t* handle) {
    auto* wire = static_cast<Wire*>(handle->data);
    close(wire->fd_);
    const std::function<void()> tell = std::move(wire->closed_);
    delete wire;
    if (tell) tell();
  });
}

}  // namespace seganet
