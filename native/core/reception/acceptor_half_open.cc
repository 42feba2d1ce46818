// Acceptor: connections whose device id is not known yet.

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/loop/poll_handle.h"
#include "core/protocol/proxy_header.h"
#include "core/reception/acceptor.h"
#include "core/record/record.h"

namespace seganet {
namespace {

// Every connection may have this many unparsed bytes before its device is known; almost every
// CONNECT is smaller. Larger ones share kMostLargeBytes: above it, the connection that became large
// first is closed.
constexpr size_t kFreeBytes = 4096;
constexpr size_t kMostLargeBytes = 16u << 20;

}  // namespace

void Acceptor::Poll(HalfOpen* connection, int events) {
  StartPoll(&connection->poll, events, [](uv_poll_t* poll, int status, int ready) {
    auto* half = static_cast<HalfOpen*>(poll->data);
    Acceptor* self = half->listener->acceptor;
    if (status < 0 || (ready & UV_READABLE) == 0) {
      self->counters_.Add(Counter::kConnectionsClosed);
      self->Close(half);
    } else {
      self->Read(half);
    }
  });
}

void Acceptor::Read(HalfOpen* connection) {
  char buffer[4096];
  const ssize_t n = recv(connection->fd, buffer, sizeof buffer, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    counters_.Add(Counter::kConnectionsClosed);
    Close(connection);
    return;
  }
  if (!Hold(connection, {buffer, static_cast<size_t>(n)})) return;
  if (connection->is_proxied && !TakeProxyHeader(connection)) return;
  const Handshake& handshake = *connection->listener->handshake;
  if (!connection->peer.device.empty() && handshake.TrustsProof()) {
    HandOver(connection, connection->peer.device, true);
    return;
  }
  Introduction introduction = handshake.Listen(connection->bytes, connection->answered);
  connection->answered = introduction.answered;
  switch (introduction.status) {
    case Introduction::Status::kNeedMore:
      Say(connection, introduction.answer);
      return;
    case Introduction::Status::kRefused:
      Refuse(connection, introduction.reason, introduction.answer);
      return;
    case Introduction::Status::kDevice:
      Say(connection, introduction.answer);
      Introduce(connection, std::move(introduction));
      return;
  }
}

// Returns true if the header is whole and other bytes follow it.
bool Acceptor::TakeProxyHeader(HalfOpen* connection) {
  std::string& bytes = connection->bytes;
  const ProxyHeader header =
      ParseProxyHeader({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  switch (header.status) {
    case ProxyHeader::Status::kNeedMore:
      return false;
    case ProxyHeader::Status::kBad:
      Refuse(connection, CloseReason::kNoProxyHeader, {});
      return false;
    case ProxyHeader::Status::kWhole:
      break;
  }
  if (!header.address.empty()) connection->peer.address = header.address;
  connection->is_proxied = false;
  bytes.erase(0, header.bytes);
  return !bytes.empty();
}

// Stores received bytes. Returns false if they were too many and the connection is closed.
bool Acceptor::Hold(HalfOpen* connection, std::string_view bytes) {
  connection->bytes.append(bytes);
  const size_t holds = connection->bytes.capacity();
  if (holds <= kFreeBytes) return true;
  if (connection->large == 0) connection->large_place = large_.insert(large_.end(), connection);
  large_bytes_ += holds - connection->large;
  connection->large = holds;
  while (large_bytes_ > kMostLargeBytes) {
    HalfOpen* const first = large_.front();
    counters_.Add(Counter::kHalfOpenEvicted);
    Close(first);
    if (first == connection) return false;
  }
  return true;
}

// A new socket's send buffer has room for these few bytes. If it has not, the device notices the
// close.
void Acceptor::Say(HalfOpen* connection, std::string_view answer) {
  if (!answer.empty()) (void)!send(connection->fd, answer.data(), answer.size(), MSG_NOSIGNAL);
}

void Acceptor::Introduce(HalfOpen* connection, Introduction introduction) {
  connection->level = introduction.level;
  connection->made_up_id = introduction.made_up;
  if (connection->listener->spec.desk != nullptr) {
    HandOver(connection, {}, false);
  } else if (!connection->peer.device.empty()) {
    HandOver(connection, connection->peer.device, true);
  } else if (connection->listener->spec.ask_login) {
    AskLogin(connection, std::move(introduction));
  } else {
    HandOver(connection, std::move(introduction.device), false);
  }
}

// The connection is not read while its login is pending, and its timeout continues.
void Acceptor::AskLogin(HalfOpen* connection, Introduction introduction) {
  connection->login = ++last_login_;
  asked_[connection->login] = connection;
  Poll(connection, UV_DISCONNECT);
  logins_->Ask({connection->login, connection->listener->stage, std::move(introduction.device),
                std::move(introduction.user), std::move(introduction.password),
                connection->peer.address});
}

bool Acceptor::AnswerLogin(uint64_t id, std::optional<std::string> device) {
  bool waits = false;
  Call([&] {
    const auto it = asked_.find(id);
    if (it == asked_.end()) return;
    waits = true;
    HalfOpen* connection = it->second;
    if (device) {
      HandOver(connection, std::move(*device), true);
    } else {
      counters_.Add(Counter::kLoginsRefused);
      const std::string answer = connection->listener->handshake->LoginRefusal(connection->level);
      Refuse(connection, CloseReason::kNotAllowed, answer);
    }
  });
  return waits;
}

void Acceptor::HandOver(HalfOpen* connection, std::string device, bool proven) {
  Handoff handoff{connection->fd,
                  connection->listener->stage,
                  std::move(device),
                  std::move(connection->bytes),
                  std::move(connection->peer.address),
                  connection->made_up_id,
                  connection->answered,
                  proven,
                  connection->listener->spec.desk,
                  0,
                  std::move(connection->peer.note)};
  Forget(connection);
  dispatch_(std::move(handoff));
}

void Acceptor::Refuse(HalfOpen* connection, CloseReason reason, std::string_view answer) {
  if (reason != CloseReason::kNone) {
    counters_.Add(Counter::kProtocolErrors);
    close_reasons_[static_cast<size_t>(reason)].Add();
  }
  Say(connection, answer);
  Close(connection);
}

void Acceptor::Close(HalfOpen* connection) {
  const int fd = connection->fd;
  Forget(connection);
  close(fd);
  connections_->fetch_sub(1, std::memory_order_relaxed);
}

// Ends the polling and deletes the connection. The caller owns the descriptor.
void Acceptor::Forget(HalfOpen* connection) {
  connection->listener->half_open.erase(connection->place);
  if (connection->login != 0) {
    asked_.erase(connection->login);
    logins_->Withdraw(connection->login);
  }
  if (connection->large != 0) {
    large_.erase(connection->large_place);
    large_bytes_ -= connection->large;
  }
  uv_close(reinterpret_cast<uv_handle_t*>(&connection->poll),
           [](uv_handle_t* handle) { delete static_cast<HalfOpen*>(handle->data); });
}

}  // namespace seganet
