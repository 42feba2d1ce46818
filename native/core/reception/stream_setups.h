// The setups of a worker's CoAP connections over TCP or streams.
#ifndef SEGANET_CORE_RECEPTION_STREAM_SETUPS_H_
#define SEGANET_CORE_RECEPTION_STREAM_SETUPS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "core/plan/plan.h"
#include "core/protocol/coap/stream/stream_setup.h"
#include "core/reception/desk_options.h"

namespace seganet {

// Keeps the latest setup of each source stage, which the stage's connections share.
//
// Thread safety: owned by one worker.
class StreamSetups {
 public:
  // max_packet_bytes and odd_topics are the engine's.
  StreamSetups(size_t max_packet_bytes, bool odd_topics)
      : max_packet_bytes_(max_packet_bytes), odd_topics_(odd_topics) {}

  // Returns the setup of a new connection. `desk`: of a listener with a desk; otherwise null.
  std::shared_ptr<const coap::StreamSetup> Get(uint32_t stage, const SourceSettings& source,
                                               const DeskOptions* desk);
  // Forgets all setups. Connections keep theirs.
  void Clear() { by_stage_.clear(); }

 private:
  const size_t max_packet_bytes_;
  const bool odd_topics_;
  std::unordered_map<uint32_t, std::shared_ptr<const coap::StreamSetup>> by_stage_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_RECEPTION_STREAM_SETUPS_H_
