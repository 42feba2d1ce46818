// Engine: sources whose devices send datagrams.

#include <random>

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
  std::vector<int> fds;
  Status status = OpenDatagramSockets(spec.host, spec.port, workers_.size(), &fds, bound_port);
  if (!status.ok()) return status;
  std::random_device random;
  const uint64_t seed = uint64_t{random()} << 32 | random();
  for (size_t i = 0; i < fds.size(); ++i) {
    // Each worker takes ownership of its socket, even if another worker has failed.
    Status opened = workers_[i]->OpenDatagrams(stage, fds[i], seed);
    if (!opened.ok()) status = opened;
  }
  listening_.push_back(stage);
  if (!status.ok()) Unlisten(stage);
  return status;
}

}  // namespace seganet
