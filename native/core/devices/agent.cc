#include "core/devices/agent.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/require.h"
#include "core/loop/poll_handle.h"

namespace seganet {
namespace {

// Bytes read from one device per wake-up. If every device of a worker is busy, a record waits for
// at most this many bytes of each other device, and a turn ends soon enough for keep-alives and
// receipts.
constexpr size_t kBytesPerTurn = 16'384;

AgentEnd EndOf(CloseReason reason) {
  if (reason == CloseReason::kDisconnected) return AgentEnd::kClosed;
  return reason == CloseReason::kNotTaken ? AgentEnd::kNotTaken : AgentEnd::kProtocol;
}

}  // namespace

Agent::Agent(AgentHost* host, uv_loop_t* loop, int fd, uint32_t stage, std::string device_id,
             std::string address, bool proven)
    : host_(host),
      fd_(fd),
      stage_(stage),
      device_id_(std::move(device_id)),
      address_(std::move(address)),
      proven_(proven),
      last_seen_us_(MonotonicUs()) {
  InitPoll(loop, &poll_, fd_);  // if this fails, Poll() closes the connection
  poll_.data = this;
}

Agent::Agent(AgentHost* host, uv_loop_t* loop, MovedAgent moved)
    : Agent(host, loop, moved.fd, moved.stage, std::move(moved.device_id), std::move(moved.address),
            moved.proven) {
  SEGANET_REQUIRE(moved.session != nullptr);
  session_ = std::move(moved.session);
  last_seen_us_ = moved.last_seen_us;
  latest_class = moved.latest_class;
  device = moved.device;
  connected_ = device != nullptr;
  host_->OnBuffered(this, session_->buffered_bytes(), true);
}

void Agent::Start(std::string_view bytes) {
  if (Feed({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()})) Poll(UV_READABLE);
}

void Agent::Poll(int events) {
  events_ = events;
  host_->OnPolled(this);
  if (events == 0) {
    uv_poll_stop(&poll_);
    return;
  }
  const auto on_event = [](uv_poll_t* poll, int status, int ready) {
    auto* self = static_cast<Agent*>(poll->data);
    if (status < 0) return self->Close(AgentEnd::kClosed);
    if ((ready & UV_WRITABLE) && self->SendOutput()) self->Poll(UV_READABLE);
    if ((ready & UV_READABLE) && (self->events_ & UV_READABLE) && !self->closing_) {
      self->OnReadable();
    }
  };
  if (StartPoll(&poll_, events, on_event) != 0) Close(AgentEnd::kClosed);
}

void Agent::OnReadable() {
  size_t left = kBytesPerTurn;
  while (left > 0) {
    // A device with too many unacknowledged records is read again when some of them are safe.
    if (session_->WantsPause() || !host_->MayRead(this)) {
      Poll(session_->output().empty() ? 0 : UV_WRITABLE);
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

// Returns false if the connection is closed or waits to become writable.
bool Agent::Feed(std::span<const uint8_t> bytes) {
  const size_t before = session_->partial_bytes();
  const CloseReason reason = session_->Feed(bytes);
  if (closing_) return false;
  const bool is_new = session_->partial_bytes() < before + bytes.size();
  host_->OnBuffered(this, session_->buffered_bytes(), is_new);
  const bool sent = SendOutput();
  if (closing_) return false;
  if (reason != CloseReason::kNone) {
    close_reason_ = reason;
    Close(EndOf(reason));
    return false;
  }
  return sent;
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
  Poll(EventsToSend());
  return false;
}

// A device that does not read its acknowledgements is not read either, which bounds the output that
// is held for it. A subscriber that is slow to read records must get its PINGREQ answered.
int Agent::EventsToSend() const {
  const bool reads = session_->subscriber() != nullptr && !paused && !session_->WantsPause();
  return reads ? UV_READABLE | UV_WRITABLE : UV_WRITABLE;
}

void Agent::Flush() {
  if (closing_ || !SendOutput() || paused) return;
  if (events_ != UV_READABLE && !session_->WantsPause()) {
    if ((events_ & UV_READABLE) == 0) EndPause();
    Poll(UV_READABLE);
  }
}

void Agent::TakeRecords() {
  if (closing_) return;
  session_->TakeRecords();
  // Otherwise SendOutput continues when the socket has room.
  if ((events_ & UV_WRITABLE) == 0) Flush();
}

bool Agent::Reads(std::string_view filter) const {
  return std::any_of(readable.begin(), readable.end(),
                     [&](const std::string& allowed) { return FilterCovers(allowed, filter); });
}

void Agent::EndPause() {
  last_seen_us_ = MonotonicUs();
  session_->OnResumed();
}

void Agent::Resume() {
  if (closing_) return;
  EndPause();
  Poll(session_->output().empty() ? UV_READABLE : EventsToSend());
}

int64_t Agent::OnTime(int64_t now_us) {
  const int64_t limit_us = session_->silence_limit_us();
  if (limit_us > 0 && events_ != 0 && paused == 0 && now_us - last_seen_us_ > limit_us) {
    Close(AgentEnd::kKeepAlive);
    return kNever;
  }
  session_->OnTime(now_us);
  if (!session_->output().empty()) Flush();
  // The keep-alive is unknown before the CONNECT.
  if (!connected_ || session_->ticks()) return now_us;
  return limit_us > 0 ? last_seen_us_ + limit_us + 1 : kNever;
}

void Agent::Close(AgentEnd end) {
  if (closing_) return;
  closing_ = true;
  session_->SayGoodbye(end);
  // Best effort: a device that does not read does not receive it.
  const std::string_view last = session_->output();
  if (!last.empty()) (void)!send(fd_, last.data(), last.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  host_->OnClosed(this, end);
  const int fd = fd_;
  uv_close(reinterpret_cast<uv_handle_t*>(&poll_),
           [](uv_handle_t* handle) { delete static_cast<Agent*>(handle->data); });
  host_->OnDescriptor(fd, end);
}

MovedAgent Agent::Leave() {
  SEGANET_REQUIRE(session_->unacknowledged() == 0);
  closing_ = true;
  host_->OnBuffered(this, 0, true);
  MovedAgent moved{fd_,           stage_,       device_id_, address_, std::move(session_),
                   last_seen_us_, latest_class, proven_,    device};
  // Removes the descriptor from this loop's poll set at once.
  uv_close(reinterpret_cast<uv_handle_t*>(&poll_),
           [](uv_handle_t* handle) { delete static_cast<Agent*>(handle->data); });
  return moved;
}

Admission Agent::Identify(std::string device_id) {
  SEGANET_REQUIRE(!connected_ && !closing_);
  device_id_ = std::move(device_id);
  proven_ = true;
  return OnConnect();
}

void Agent::Forget() {
  device_id_.clear();
  proven_ = false;
  connected_ = false;
  device = nullptr;
}

void Agent::CloseFor(CloseReason reason) {
  close_reason_ = reason;
  Close(EndOf(reason));
}

Admission Agent::OnConnect() {
  const Admission admission = host_->OnConnect(this, device_id_);
  connected_ = admission == Admission::kAccepted;
  return admission;
}

RecordAnswer Agent::OnRecord(const IncomingRecord& record) { return host_->OnRecord(this, record); }

}  // namespace seganet
