// Derives the settings of a CoAP listener from those of its source.
#ifndef SEGANET_CORE_RECEPTION_COAP_LISTENER_SETTINGS_H_
#define SEGANET_CORE_RECEPTION_COAP_LISTENER_SETTINGS_H_

#include <cstddef>

#include "core/plan/plan.h"
#include "core/protocol/coap/settings.h"

namespace seganet {

// Returns the settings of the CoAP core for `source`. max_packet_bytes and odd_topics are the
// engine's; max_packet_bytes limits a record on every transport.
coap::Settings CoapSettings(const SourceSettings& source, size_t max_packet_bytes,
                            bool odd_topics = false);

// Returns the limits of a CoAP server. `devices` is the engine's maximum number of connected
// devices.
coap::Limits CoapLimits(const coap::Settings& settings, size_t devices);

}  // namespace seganet

#endif  // SEGANET_CORE_RECEPTION_COAP_LISTENER_SETTINGS_H_
