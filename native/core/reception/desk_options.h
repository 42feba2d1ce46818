// Options of a listener whose requests go to JavaScript.
#ifndef SEGANET_CORE_RECEPTION_DESK_OPTIONS_H_
#define SEGANET_CORE_RECEPTION_DESK_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/protocol/coap/stream/stream_options.h"
#include "core/reception/forward_options.h"
#include "core/reception/post_options.h"

namespace seganet {

struct DeskOptions {
  coap::StreamOptions stream;
  // A connection that is silent for this long gets a Ping, and is closed after the same time again;
  // 0 = never.
  uint32_t ping_s = 20;
  // A connection without a device is closed after this time.
  int64_t identify_timeout_us = 10'000'000;
  // Connections without a device, of the listener. One more closes the oldest of its worker.
  size_t max_unidentified = 8192;
  // Requests that the workers forward; null = none.
  std::shared_ptr<const ForwardOptions> forward;
  // Requests that the workers make records of; null = none.
  std::shared_ptr<const PostOptions> posts;
};

}  // namespace seganet

#endif  // SEGANET_CORE_RECEPTION_DESK_OPTIONS_H_
