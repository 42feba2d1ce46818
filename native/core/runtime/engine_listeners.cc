// Engine: listeners, sockets for datagrams, streams from outside, and logins.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/reception/listener.h"
#include "core/runtime/engine.h"

namespace seganet {

Status Engine::Listen(uint32_t stage, const ListenSpec& spec, uint16_t* bound_port) {
  if (closed_) return Status::Closed("the engine is closed");
  const Stage* source = plan_->Find(stage);
  if (source == nullptr || source->spec.kind != StageKind::kSource) {
    return Status::InvalidArgument("stage " + std::to_string(stage) +
                                   " is not a source of the plan");
  }
  if (std::find(listening_.begin(), listening_.end(), stage) != listening_.end()) {
    return Status::InvalidArgument("stage " + std::to_string(stage) + " is already listening");
  }
  const bool is_udp = spec.transport == Transport::kUdp || spec.transport == Transport::kDtls;
  if (spec.desk && (is_udp || spec.ask_login)) {
    return Status::InvalidArgument("a listener with a desk needs TCP or streams, and login open");
  }
  if (is_udp) return ListenDatagrams(*source, spec, bound_port);
  std::unique_ptr<Handshake> handshake =
      MakeHandshake(source->spec.source, options_.max_packet_bytes, options_.odd_topics,
                    spec.desk != nullptr, spec.ask_login);
  if (handshake == nullptr) {
    return Status::InvalidArgument("the devices of stage " + std::to_string(stage) +
                                   " do not connect");
  }
  int fd = -1;
  *bound_port = 0;
  if (spec.transport == Transport::kTcp) {
    Status status = OpenListener(spec.host, spec.port, &fd, bound_port);
    if (!status.ok()) return status;
  }
  if (Status status = acceptor_->Listen(stage, fd, spec, std::move(handshake)); !status.ok()) {
    return status;
  }
  listening_.push_back(stage);
  return {};
}

Status Engine::ListenDatagrams(const Stage& source, const ListenSpec& spec, uint16_t* bound_port) {
  const uint32_t stage = source.spec.id;
  if (source.spec.source.protocol != Protocol::kCoap) {
    return Status::InvalidArgument("stage " + std::to_string(stage) +
                                   " does not speak CoAP, so it cannot listen on UDP");
  }
  if (spec.ask_login) {
    return Status::InvalidArgument("devices over UDP have no login: use TCP or streams");
  }
  if ((spec.transport == Transport::kDtls) != (spec.dtls != nullptr)) {
    return Status::InvalidArgument("DTLS needs certificates or keys, and UDP has none");
  }
  std::vector<int> fds;
  Status status = OpenDatagramSockets(spec.host, spec.port, workers_.size(), &fds, bound_port);
  if (!status.ok()) return status;
  std::random_device random;
  const auto number = [&random] { return uint64_t{random()} << 32 | random(); };
  DatagramSpec datagrams;
  datagrams.seed = number();
  for (uint64_t& part : datagrams.cookie_secret) part = number();
  datagrams.dtls = spec.dtls;
  DtlsLimits& limits = datagrams.dtls_limits;
  limits.max_handshakes = std::max<size_t>(spec.max_half_open / fds.size(), 16);
  limits.handshake_timeout_us = spec.connect_timeout_us;
  // The kernel may give all devices to one worker.
  limits.max_sessions = options_.max_devices;
  limits.idle_us = spec.session_idle_us;
  for (size_t i = 0; i < fds.size(); ++i) {
    // Each worker takes ownership of its socket, even if another worker has failed.
    Status opened = workers_[i]->datagrams().Open(stage, fds[i], datagrams);
    if (!opened.ok()) status = opened;
  }
  listening_.push_back(stage);
  if (!status.ok()) Unlisten(stage);
  return status;
}

Status Engine::RenewDtls(uint32_t stage, const std::shared_ptr<const DtlsContext>& context) {
  if (closed_) return Status::Closed("the engine is closed");
  if (context == nullptr) return Status::InvalidArgument("no context");
  for (const auto& worker : workers_) worker->datagrams().RenewDtls(stage, context);
  return {};
}

Status Engine::OpenStream(uint32_t stage, const StreamPeer& peer, int* fd) {
  int pair[2];
  if (!StreamPair(pair)) return Status::System("cannot create a socket pair", errno);
  if (!acceptor_->Adopt(stage, pair[1], peer)) {
    close(pair[0]);
    close(pair[1]);
    return Status::System("stage " + std::to_string(stage) + " is not listening", ENOTCONN);
  }
  *fd = pair[0];
  return {};
}

std::vector<LoginRequest> Engine::TakeLogins(size_t most) {
  bell_->Answer();
  return logins_.Take(most);
}

bool Engine::AnswerLogin(uint64_t id, std::optional<std::string> device) {
  return acceptor_->AnswerLogin(id, std::move(device));
}

void Engine::Unlisten(uint32_t stage) {
  const auto it = std::find(listening_.begin(), listening_.end(), stage);
  if (closed_ || it == listening_.end()) return;
  listening_.erase(it);
  const SlotExchange::Hold hold(&exchange_);
  acceptor_->Unlisten(stage);
  for (const auto& worker : workers_) worker->CloseStage(stage);
  desk_.Clear(stage);
}

}  // namespace seganet
