// What the connections of a listener have in common.
#ifndef SEGANET_CORE_PROTOCOL_COAP_STREAM_STREAM_SETUP_H_
#define SEGANET_CORE_PROTOCOL_COAP_STREAM_STREAM_SETUP_H_

#include <utility>

#include "core/protocol/coap/settings.h"
#include "core/protocol/coap/stream/stream_options.h"

namespace seganet::coap {

// The settings of a StreamSession. Sessions share one object, because a copy takes as much memory
// as the rest of an idle session.
//
// Thread safety: immutable after construction.
struct StreamSetup {
  // `limits` are those of one device or of a server; a stream serves one device.
  StreamSetup(Settings made_settings, Limits made_limits, StreamOptions made_options)
      : settings(std::move(made_settings)), limits(made_limits), options(std::move(made_options)) {
    limits.max_observers = limits.max_observers_per_device;
  }

  Settings settings;
  Limits limits;
  StreamOptions options;

  bool operator==(const StreamSetup&) const = default;
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_STREAM_STREAM_SETUP_H_
