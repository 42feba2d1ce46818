#include "core/runtime/agent.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace seganet {
namespace {

// Read of one device a wake-up. With every device of a worker busy, a record waits for so much of
// each of the others, and a turn is over soon enough for keep-alives and receipts.
constexpr size_t kBytesATurn = 16'384;

AgentEnd EndOf(CloseReason reason) {
  if (reason == CloseReason::kDisconnected) return AgentEnd::kClosed;
  return reason == CloseReason::kNotTaken ? AgentEnd::kNotTaken : AgentEnd::kProtocol;
}

}  // namespace

Agent::Agent(AgentHost* host, uv_loop_t* loop, int fd, uint32_t stage, std::string device_id,
             std::string address)
    : host_(host),
      fd_(fd),
      stage_(stage),
      device_id_(std::move(device_id)),
      address_(std::move(address)),
      last_seen_us_(MonotonicUs()) {
  uv_poll_init(loop, &poll_, fd_);
  poll_.data = this;
}

Agent::Agent(AgentHost* host, uv_loop_t* loop, AgentParts parts)
    : Agent(host, loop, parts.fd, parts.stage, std::move(parts.device_id),
            std::move(parts.address)) {
  session_ = std::move(parts.session);
  last_seen_us_ = parts.last_seen_us;
  buffered_ = parts.buffered;
  latest_class = parts.latest_class;
  connected_ = true;
}

void Agent::Start(std::string_view bytes) {
  if (Feed({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()})) Poll(UV_READABLE);
}

void Agent::Poll(int events) {
  events_ = events;
  if (events == 0) {
    uv_poll_stop(&poll_);
    return;
  }
  uv_poll_start(&poll_, events, [](uv_poll_t* poll, int status, int ready) {
    auto* self = static_cast<Agent*>(poll->data);
    if (status < 0) {
      self->Close(AgentEnd::kClosed);
    } else if (ready & UV_WRITABLE) {
      if (self->SendOutput()) self->Poll(UV_READABLE);
    } else {
      self->OnReadable();
    }
  });
}

void Agent::OnReadable() {
  size_t left = kBytesATurn;
  while (left > 0) {
    // A device with too much unacknowledged is read again when some of it is safe.
    if (session_->WantsPause() || !host_->MayRead(this)) {
      Poll(0);
      return;
    }
    std::span<uint8_t> buffer = host_->read_buffer(*this);
    buffer = buffer.first(std::min(buffer.size(), left));
    const ssize_t n = recv(fd_, buffer.data(), buffer.size(), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
      Close(AgentEnd::kClosed);
      return;
    }
    const auto bytes = static_cast<size_t>(n);
    last_seen_us_ = host_->OnRead(bytes);
    if (!Feed(buffer.first(bytes)) || bytes < buffer.size()) return;
    left -= bytes;
  }
  host_->OnTurnUsedUp();
}

// False: the connection is closed or waits to be writable.
bool Agent::Feed(std::span<const uint8_t> bytes) {
  const CloseReason reason = session_->Feed(bytes);
  if (closing_) return false;
  if (reason == CloseReason::kNone && !CountBuffered()) {
    close_reason_ = CloseReason::kTooLarge;
    Close(AgentEnd::kTooMuch);
    return false;
  }
  const bool sent = SendOutput();
  if (closing_) return false;
  if (reason != CloseReason::kNone) {
    close_reason_ = reason;
    Close(EndOf(reason));
    return false;
  }
  return sent;
}

bool Agent::CountBuffered() {
  const size_t before = std::exchange(buffered_, session_->buffered_bytes());
  return buffered_ == before ||
         host_->OnBuffered(static_cast<int64_t>(buffered_) - static_cast<int64_t>(before));
}

bool Agent::SendOutput() {
  const std::string_view output = session_->output();
  if (output.empty()) return true;
  const ssize_t n = send(fd_, output.data(), output.size(), MSG_NOSIGNAL);
  if (n < 0 && errno != EAGAIN && errno != EINTR) {
    Close(AgentEnd::kClosed);
    return false;
  }
  if (n > 0) session_->ConsumeOutput(static_cast<size_t>(n));
  if (session_->output().empty()) return true;
  // A device that does not take its acknowledgements is not read: what it is owed stays bounded.
  Poll(UV_WRITABLE);
  return false;
}

void Agent::Flush() {
  if (closing_ || !SendOutput() || paused) return;
  if (events_ != UV_READABLE && !session_->WantsPause()) {
    last_seen_us_ = MonotonicUs();
    Poll(UV_READABLE);
  }
}

void Agent::Resume() {
  if (closing_) return;
  last_seen_us_ = MonotonicUs();
  Poll(session_->output().empty() ? UV_READABLE : UV_WRITABLE);
}

int64_t Agent::OnTime(int64_t now_us) {
  const int64_t limit_us = session_->silence_limit_us();
  if (limit_us > 0 && events_ != 0 && now_us - last_seen_us_ > limit_us) {
    Close(AgentEnd::kKeepAlive);
    return kNever;
  }
  session_->OnTime(now_us);
  if (!session_->output().empty()) Flush();
  // The keep-alive is known from the CONNECT on.
  if (!connected_ || session_->ticks()) return now_us;
  return limit_us > 0 ? last_seen_us_ + limit_us + 1 : kNever;
}

void Agent::Close(AgentEnd end) {
  if (closing_) return;
  closing_ = true;
  session_->SayGoodbye(end);
  // Best effort: a device that does not read does not hear it.
  const std::string_view last = session_->output();
  if (!last.empty()) (void)!send(fd_, last.data(), last.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  host_->OnClosed(this, end);
  if (buffered_ > 0) host_->OnBuffered(-static_cast<int64_t>(buffered_));
  const int fd = fd_;
  uv_close(reinterpret_cast<uv_handle_t*>(&poll_),
           [](uv_handle_t* handle) { delete static_cast<Agent*>(handle->data); });
  host_->OnDescriptor(fd, end);
}

AgentParts Agent::Leave() {
  closing_ = true;
  AgentParts parts{fd_,           stage_,    device_id_,  address_, std::move(session_),
                   last_seen_us_, buffered_, latest_class};
  // Takes the descriptor out of this loop's set at once.
  uv_close(reinterpret_cast<uv_handle_t*>(&poll_),
           [](uv_handle_t* handle) { delete static_cast<Agent*>(handle->data); });
  return parts;
}

bool Agent::OnConnect() {
  connected_ = host_->OnConnect(this, device_id_);
  return connected_;
}

RecordAnswer Agent::OnRecord(const IncomingRecord& record) { return host_->OnRecord(this, record); }

}  // namespace seganet
