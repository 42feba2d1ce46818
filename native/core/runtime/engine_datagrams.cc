// Engine: sources whose devices send datagrams.

#include <algorithm>
#include <memory>
#include <random>
#include <utility>

#include "core/runtime/engine.h"

namespace seganet {

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

}  // namespace seganet
