#include "core/reception/acceptor.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/require.h"
#include "core/loop/poll_handle.h"
#include "core/reception/listener.h"

namespace seganet {
namespace {

constexpr int kAcceptsPerTurn = 64;
constexpr int kNice = 5;

std::string AddressText(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET6) {
    const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
    inet_ntop(AF_INET6, &six.sin6_addr, text, sizeof text);
    return "[" + std::string(text) + "]:" + std::to_string(ntohs(six.sin6_port));
  }
  const auto& four = reinterpret_cast<const sockaddr_in&>(address);
  inet_ntop(AF_INET, &four.sin_addr, text, sizeof text);
  return std::string(text) + ":" + std::to_string(ntohs(four.sin_port));
}

}  // namespace

Acceptor::Acceptor(const AcceptorOptions& options, std::atomic<int64_t>* connections,
                   PendingLogins* logins, std::function<void(Handoff)> dispatch)
    : options_(options),
      connections_(connections),
      logins_(logins),
      dispatch_(std::move(dispatch)) {}

Acceptor::~Acceptor() { Stop(); }

void Acceptor::OnStart() {
#ifdef __linux__
  // During a flood of connections, devices that are already connected go first. The call may fail,
  // which is harmless.
  setpriority(PRIO_PROCESS, static_cast<id_t>(tid()), kNice);
#endif
  sweep_.Start(loop());
}

void Acceptor::OnStop() {
  sweep_.Close();
  std::vector<uint32_t> stages;
  for (const auto& [stage, listener] : listeners_) stages.push_back(stage);
  for (uint32_t stage : stages) CloseListener(stage);
}

Status Acceptor::Listen(uint32_t stage, int fd, const ListenSpec& spec,
                        std::unique_ptr<Handshake> handshake) {
  int error = UV_ECANCELED;  // the thread has ended
  const bool runs = Call([&] {
    SEGANET_REQUIRE(!listeners_.contains(stage));
    auto* listener = new Listener{this, stage, fd, spec, std::move(handshake), {}, {}};
    listeners_[stage] = listener;
    error = fd < 0 ? 0 : InitPoll(loop(), &listener->poll, fd);
    if (fd < 0) return;
    listener->poll.data = listener;
    if (error != 0) {
      CloseListener(stage);
    } else {
      Poll(listener);
    }
  });
  if (!runs && fd >= 0) close(fd);
  if (error == 0) return {};
  return Status::System(std::string("cannot watch the port: ") + uv_strerror(error), -error);
}

// Watches the listener. After an error, libuv stops watching the socket; Sweep() restarts it.
void Acceptor::Poll(Listener* listener) {
  StartPoll(&listener->poll, UV_READABLE, [](uv_poll_t* poll, int, int) {
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
  while (!listener->half_open.empty()) Close(listener->half_open.front());
  const int fd = listener->fd;
  if (fd < 0) {
    delete listener;
    return;
  }
  uv_close(reinterpret_cast<uv_handle_t*>(&listener->poll),
           [](uv_handle_t* handle) { delete static_cast<Listener*>(handle->data); });
  close(fd);
}

void Acceptor::Accept(Listener* listener) {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    const int fd = AcceptDevice(listener->fd, reinterpret_cast<sockaddr*>(&address), &length);
    if (fd >= 0) {
      Admit(listener, fd, {AddressText(address), {}, {}}, listener->spec.proxies.Contains(address));
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno != EAGAIN) {
      // Out of descriptors or memory (EMFILE, ENFILE, ENOBUFS, ENOMEM): the connection stays in the
      // backlog. Polling would spin on it, so it stops; Sweep() tries again.
      counters_.Add(Counter::kConnectionsRefused);
      uv_poll_stop(&listener->poll);
      sweep_.Stir();
    }
    return;
  }
}

bool Acceptor::Adopt(uint32_t stage, int fd, const StreamPeer& peer) {
  bool adopted = false;
  Call([&] {
    const auto it = listeners_.find(stage);
    if (it == listeners_.end()) return;
    adopted = true;
    Admit(it->second, fd, peer, false);
  });
  return adopted;
}

void Acceptor::Admit(Listener* listener, int fd, const StreamPeer& peer, bool is_proxied) {
  counters_.Add(Counter::kConnectionsAccepted);
  sweep_.Stir();
  // Connections that send nothing make room for later ones, so a flood of them cannot keep other
  // devices out.
  const bool is_full = connections_->load(std::memory_order_relaxed) >=
                       static_cast<int64_t>(options_.max_connections);
  if (is_full || listener->half_open.size() >= listener->spec.max_half_open) EvictOldest(listener);
  if (connections_->fetch_add(1, std::memory_order_relaxed) >=
      static_cast<int64_t>(options_.max_connections)) {
    connections_->fetch_sub(1, std::memory_order_relaxed);
    counters_.Add(Counter::kConnectionsRefused);
    close(fd);
    return;
  }
  PrepareSocket(fd);
  auto* connection = new HalfOpen{};
  connection->listener = listener;
  connection->fd = fd;
  connection->deadline_us = MonotonicUs() + listener->spec.connect_timeout_us;
  connection->peer = peer;
  connection->is_proxied = is_proxied;
  connection->place = listener->half_open.insert(listener->half_open.end(), connection);
  const int error = InitPoll(loop(), &connection->poll, fd);
  connection->poll.data = connection;
  if (error != 0) {
    counters_.Add(Counter::kConnectionsRefused);
    Close(connection);
    return;
  }
  // A new socket's send buffer has room for these few bytes.
  const std::string greeting = listener->handshake->InitialBytes();
  if (!greeting.empty()) (void)!send(fd, greeting.data(), greeting.size(), MSG_NOSIGNAL);
  Poll(connection, UV_READABLE);
}

void Acceptor::EvictOldest(Listener* listener) {
  if (listener->half_open.empty()) return;
  counters_.Add(Counter::kHalfOpenEvicted);
  Close(listener->half_open.front());
}

// Returns true if nothing waits for the next sweep.
bool Acceptor::Sweep() {
  const int64_t now = MonotonicUs();
  bool is_still = true;
  for (const auto& [stage, listener] : listeners_) {
    // All half-open connections of a listener have the same timeout, so the oldest expire first.
    while (!listener->half_open.empty() && listener->half_open.front()->deadline_us <= now) {
      counters_.Add(Counter::kConnectTimeouts);
      Refuse(listener->half_open.front(), CloseReason::kNone, {});
    }
    if (listener->fd >= 0 && !uv_is_active(reinterpret_cast<uv_handle_t*>(&listener->poll))) {
      Poll(listener);
      is_still = false;
    }
    is_still = is_still && listener->half_open.empty();
  }
  if (options_.on_sweep && !options_.on_sweep()) is_still = false;
  return is_still;
}

}  // namespace seganet
