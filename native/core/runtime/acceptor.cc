#include "core/runtime/acceptor.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/protocol/mqtt/connect_peek.h"
#include "core/record/record.h"
#include "core/runtime/listener.h"

namespace seganet {
namespace {

constexpr int kAcceptsATurn = 64;
constexpr uint64_t kSweepMs = 250;

// MQTT 3.1.1, 3.2.2.3: CONNACK, return code 2, "identifier rejected".
constexpr std::string_view kIdentifierRejected("\x20\x02\x00\x02", 4);

// [MQTT-3.1.3-6] A client without an id gets a unique one.
std::string MadeUpId() {
  static constexpr char kHex[] = "0123456789abcdef";
  std::random_device random;
  std::string id = "auto-";
  for (int word = 0; word < 4; ++word) {
    const uint32_t bits = random();
    for (int shift = 0; shift < 32; shift += 4) id.push_back(kHex[(bits >> shift) & 15]);
  }
  return id;
}

}  // namespace

struct Acceptor::Listener {
  Acceptor* acceptor;
  uint32_t stage;
  int fd;
  int64_t connect_timeout_us;
  uv_poll_t poll;
};

struct Acceptor::HalfOpen {
  Acceptor* acceptor;
  uint32_t stage;
  int fd;
  int64_t deadline_us;
  std::string bytes;
  uv_poll_t poll;
};

Acceptor::Acceptor(const AcceptorOptions& options, std::atomic<int64_t>* connections,
                   std::function<void(Handoff)> dispatch)
    : options_(options), connections_(connections), dispatch_(std::move(dispatch)) {}

Acceptor::~Acceptor() { Stop(); }

void Acceptor::OnStart() {
  uv_timer_init(loop(), &sweep_);
  sweep_.data = this;
  uv_timer_start(
      &sweep_, [](uv_timer_t* timer) { static_cast<Acceptor*>(timer->data)->Sweep(); }, kSweepMs,
      kSweepMs);
}

void Acceptor::OnStop() {
  uv_close(reinterpret_cast<uv_handle_t*>(&sweep_), nullptr);
  std::vector<uint32_t> stages;
  for (const auto& [stage, listener] : listeners_) stages.push_back(stage);
  for (uint32_t stage : stages) CloseListener(stage);
}

void Acceptor::Listen(uint32_t stage, int fd, int64_t connect_timeout_us) {
  const bool runs = Call([=, this] {
    auto* listener = new Listener{this, stage, fd, connect_timeout_us, {}};
    uv_poll_init(loop(), &listener->poll, fd);
    listener->poll.data = listener;
    Poll(listener);
    listeners_[stage] = listener;
  });
  if (!runs) close(fd);
}

void Acceptor::Poll(Listener* listener) {
  uv_poll_start(&listener->poll, UV_READABLE, [](uv_poll_t* poll, int, int) {
    auto* ready = static_cast<Listener*>(poll->data);
    ready->acceptor->Accept(ready);
  });
}

void Acceptor::Unlisten(uint32_t stage) {
  Call([this, stage] { CloseListener(stage); });
}

void Acceptor::CloseListener(uint32_t stage) {
  const auto it = listeners_.find(stage);
  if (it == listeners_.end()) return;
  Listener* listener = it->second;
  listeners_.erase(it);
  std::vector<HalfOpen*> its;
  for (HalfOpen* connection : half_open_) {
    if (connection->stage == stage) its.push_back(connection);
  }
  for (HalfOpen* connection : its) Close(connection);
  const int fd = listener->fd;
  uv_close(reinterpret_cast<uv_handle_t*>(&listener->poll),
           [](uv_handle_t* handle) { delete static_cast<Listener*>(handle->data); });
  close(fd);
}

void Acceptor::Accept(Listener* listener) {
  for (int i = 0; i < kAcceptsATurn; ++i) {
    const int fd = accept(listener->fd, nullptr, nullptr);
    if (fd >= 0) {
      Admit(*listener, fd);
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno != EAGAIN) {
      // Out of descriptors or memory (EMFILE, ENFILE, ENOBUFS, ENOMEM): the connection stays in the
      // backlog. Polling would spin on it; the sweep looks again.
      counters_.Add(Counter::kConnectionsRefused);
      uv_poll_stop(&listener->poll);
    }
    return;
  }
}

void Acceptor::Admit(const Listener& listener, int fd) {
  counters_.Add(Counter::kConnectionsAccepted);
  if (connections_->fetch_add(1, std::memory_order_relaxed) >=
      static_cast<int64_t>(options_.max_connections)) {
    connections_->fetch_sub(1, std::memory_order_relaxed);
    counters_.Add(Counter::kConnectionsRefused);
    close(fd);
    return;
  }
  PrepareSocket(fd);
  auto* connection =
      new HalfOpen{this, listener.stage, fd, MonotonicUs() + listener.connect_timeout_us, {}, {}};
  half_open_.insert(connection);
  uv_poll_init(loop(), &connection->poll, fd);
  connection->poll.data = connection;
  uv_poll_start(&connection->poll, UV_READABLE, [](uv_poll_t* poll, int, int) {
    auto* ready = static_cast<HalfOpen*>(poll->data);
    ready->acceptor->Read(ready);
  });
}

void Acceptor::Read(HalfOpen* connection) {
  char buffer[4096];
  const ssize_t n = recv(connection->fd, buffer, sizeof buffer, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    counters_.Add(Counter::kConnectionsClosed);
    Refuse(connection, CloseReason::kNone, {});
    return;
  }
  connection->bytes.append(buffer, static_cast<size_t>(n));
  const auto* bytes = reinterpret_cast<const uint8_t*>(connection->bytes.data());
  const mqtt::ConnectPeek peek =
      mqtt::PeekConnect({bytes, connection->bytes.size()}, options_.max_connect_bytes);
  switch (peek.status) {
    case mqtt::ConnectPeek::Status::kNeedMore:
      return;
    case mqtt::ConnectPeek::Status::kOk:
      if (peek.client_id.size() > kMaxDeviceBytes) {
        Refuse(connection, CloseReason::kRefused, kIdentifierRejected);
      } else if (peek.client_id.empty() && peek.clean_session) {
        HandOver(connection, MadeUpId());
      } else {
        HandOver(connection, std::string(peek.client_id));
      }
      return;
    case mqtt::ConnectPeek::Status::kUnsupportedVersion:
    case mqtt::ConnectPeek::Status::kNotConnect:
    case mqtt::ConnectPeek::Status::kMalformed:
      Refuse(connection, peek.reason, mqtt::RefusalFor(peek));
      return;
  }
}

void Acceptor::HandOver(HalfOpen* connection, std::string device) {
  Handoff handoff{
      connection->fd, connection->stage, std::move(device), std::move(connection->bytes), {},
      false};
  Forget(connection);
  dispatch_(std::move(handoff));
}

void Acceptor::Refuse(HalfOpen* connection, CloseReason reason, std::string_view answer) {
  if (reason != CloseReason::kNone) {
    counters_.Add(Counter::kProtocolErrors);
    close_reasons_[static_cast<size_t>(reason)].Add();
  }
  // A fresh socket's send buffer takes these few bytes; if not, the device learns it from the
  // close.
  if (!answer.empty()) (void)!send(connection->fd, answer.data(), answer.size(), MSG_NOSIGNAL);
  Close(connection);
}

void Acceptor::Close(HalfOpen* connection) {
  const int fd = connection->fd;
  Forget(connection);
  close(fd);
  connections_->fetch_sub(1, std::memory_order_relaxed);
}

// Ends the polling; the descriptor is the caller's.
void Acceptor::Forget(HalfOpen* connection) {
  half_open_.erase(connection);
  uv_close(reinterpret_cast<uv_handle_t*>(&connection->poll),
           [](uv_handle_t* handle) { delete static_cast<HalfOpen*>(handle->data); });
}

void Acceptor::Sweep() {
  const int64_t now = MonotonicUs();
  std::vector<HalfOpen*> late;
  for (HalfOpen* connection : half_open_) {
    if (connection->deadline_us <= now) late.push_back(connection);
  }
  for (HalfOpen* connection : late) {
    counters_.Add(Counter::kConnectTimeouts);
    Refuse(connection, CloseReason::kNone, {});
  }
  for (const auto& [stage, listener] : listeners_) {
    if (!uv_is_active(reinterpret_cast<uv_handle_t*>(&listener->poll))) Poll(listener);
  }
  if (options_.on_sweep) options_.on_sweep();
}

}  // namespace seganet
