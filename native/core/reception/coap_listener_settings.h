// The settings of a CoAP listener, as the CoAP core takes them.
#ifndef SEGANET_CORE_RECEPTION_COAP_LISTENER_SETTINGS_H_
#define SEGANET_CORE_RECEPTION_COAP_LISTENER_SETTINGS_H_

#include <cstddef>

#include "core/plan/plan.h"
#include "core/protocol/coap/settings.h"

namespace seganet {

// max_packet_bytes: of the engine. A record may not be longer, however it comes.
coap::Settings CoapSettings(const SourceSettings& source, size_t max_packet_bytes,
                            bool odd_topics = false);

// devices: at most so many are connected to the engine.
coap::Limits CoapLimits(const coap::Settings& settings, size_t devices);

}  // namespace seganet

#endif  // SEGANET_CORE_RECEPTION_COAP_LISTENER_SETTINGS_H_
