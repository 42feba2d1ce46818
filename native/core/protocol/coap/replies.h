// The responses of a CoAP server; the same over UDP and over a stream.
#ifndef SEGANET_CORE_PROTOCOL_COAP_REPLIES_H_
#define SEGANET_CORE_PROTOCOL_COAP_REPLIES_H_

#include <string>

#include "core/protocol/coap/handler.h"
#include "core/protocol/coap/reply.h"
#include "core/protocol/coap/request.h"
#include "core/protocol/coap/settings.h"
#include "core/protocol/coap/uploads.h"

namespace seganet::coap {

// Returns the body of /.well-known/core (RFC 6690).
std::string Discovery(const Settings& settings);

// The views in the reply are valid while those of the refusal are.
Reply ReplyTo(const Refusal& refusal);
Reply ReplyTo(const Answer& answer);

// The response to a block that does not complete its body.
// REQUIRES: step != kWhole.
Reply ReplyTo(Uploads::Step step, const Block& block, size_t max_body_bytes);

// Checks the method and the Accept option against the resource. kEmpty = served.
Refusal CheckMethod(uint8_t code, const Request& request);

// True if each segment of the topic fits a Location-Path option (255 bytes).
bool IsLocation(std::string_view topic);

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_REPLIES_H_
