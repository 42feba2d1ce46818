// What is answered when, the same over UDP and over a stream.
#ifndef SEGANET_CORE_PROTOCOL_COAP_REPLIES_H_
#define SEGANET_CORE_PROTOCOL_COAP_REPLIES_H_

#include <string>

#include "core/protocol/coap/handler.h"
#include "core/protocol/coap/reply.h"
#include "core/protocol/coap/request.h"
#include "core/protocol/coap/settings.h"
#include "core/protocol/coap/uploads.h"

namespace seganet::coap {

// The body of /.well-known/core (RFC 6690).
std::string Discovery(const Settings& settings);

Reply ReplyTo(const Refusal& refusal);
Reply ReplyTo(const Answer& answer);

// REQUIRES: step != kWhole.
Reply ReplyTo(Uploads::Step step, const Block& block, size_t max_body_bytes);

// Whether the method fits the resource, and what is accepted.
Refusal CheckMethod(uint8_t code, const Request& request);

// The option can hold each segment of the topic.
bool IsLocation(std::string_view topic);

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_REPLIES_H_
