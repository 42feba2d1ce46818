#include "core/uplink/wire.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace seganet {
namespace {

constexpr size_t kReadBytes = 65536;
// A large write must not keep its memory for ever.
constexpr size_t kKeptBytes = 262144;

#ifdef MSG_NOSIGNAL
constexpr int kSendFlags = MSG_NOSIGNAL;
#else
constexpr int kSendFlags = 0;  // the socket has SO_NOSIGPIPE, or the process ignores the signal
#endif

// As Node says it.
const TlsFailure kBeforeTls{"ECONNRESET", "the far end closed the connection before TLS stood"};

bool IsLater(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

Wire::Wire(int fd, std::unique_ptr<TlsClient> tls, Listener* listener)
    : fd_(fd), tls_(std::move(tls)), listener_(listener), buffer_(kReadBytes) {}

Status Wire::Make(uv_loop_t* loop, int fd, std::unique_ptr<TlsClient> tls, Listener* listener,
                  Wire** wire) {
  auto* made = new Wire(fd, std::move(tls), listener);
  if (const int error = uv_poll_init(loop, &made->poll_, fd); error != 0) {
    close(fd);
    delete made;  // libuv holds nothing of it
    return Status::System("descriptor " + std::to_string(fd) + " cannot be waited for", -error);
  }
  made->poll_.data = made;
  if (made->tls_) made->tls_->Start();
  made->Watch();
  *wire = made;
  return {};
}

void Wire::Watch() {
  int events = 0;
  if (!is_paused_ || !is_open_) events |= UV_READABLE;
  if (!is_open_ && !tls_) events |= UV_WRITABLE;  // to tell that it is open
  if (unsent() > 0 || error_ != 0 || is_finishing_) events |= UV_WRITABLE;
  if (events == watched_ || is_over_) return;
  watched_ = events;
  if (events == 0) {
    uv_poll_stop(&poll_);
  } else {
    uv_poll_start(&poll_, events, OnPoll);
  }
}

void Wire::OnPoll(uv_poll_t* poll, int status, int events) {
  auto* wire = static_cast<Wire*>(poll->data);
  // Read first: what was said before an end is heard. libuv tells an error alone as a status.
  if (status < 0 && wire->error_ == 0) wire->error_ = -status;
  if (!wire->tls_ && !wire->is_open_) {
    wire->is_open_ = true;
    wire->listener_->OnOpen();
  }
  if (!wire->is_over_ && (events & UV_READABLE || status < 0)) wire->ReadAll();
  if (!wire->is_over_ && wire->error_ != 0) wire->Fail(wire->error_);
  if (wire->is_over_) return;
  const bool was_full = wire->unsent() > 0;
  wire->Flush();
  wire->Watch();
  if (was_full && wire->unsent() == 0 && wire->is_open_) wire->listener_->OnDrained();
}

void Wire::ReadAll() {
  while (!is_over_ && !is_paused_) {
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
    // There was no more when it was read.
    if (bytes < buffer_.size()) return;
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
    End({});
  }
}

void Wire::Write(std::string_view bytes) {
  if (is_over_ || error_ != 0 || is_finishing_) return;
  if (tls_) {
    tls_->Write(bytes);
  } else if (unsent() > 0) {
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
  if (is_finishing_) {
    is_finishing_ = false;
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

void Wire::End(TlsFailure why) {
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
