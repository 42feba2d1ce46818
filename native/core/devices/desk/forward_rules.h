// What a forwarded request looks like to the device, and its answer to the peer.
#ifndef SEGANET_CORE_DEVICES_DESK_FORWARD_RULES_H_
#define SEGANET_CORE_DEVICES_DESK_FORWARD_RULES_H_

#include <string_view>
#include <vector>

#include "core/protocol/coap/exchange.h"
#include "core/reception/forward_options.h"

namespace seganet {

// What the answer to a forwarded request depends on.
struct ForwardShape {
  bool wants_alias = false;    // ForwardFormat::alias
  bool knows_version = false;  // ForwardFormat::content_option
};

// Returns the device in the path {prefix}/{device}/{path}; '' for any other path. The rest has at
// least one segment.
std::string_view ForwardDevice(const ForwardOptions& options,
                               const std::vector<std::string_view>& path);

// Reads a request for a device. False when the desk must decide: the path has segments that devices
// might misread, an option has another form, or the request is about an observation.
// REQUIRES: ForwardDevice() is not ''.
bool ReadForward(const ForwardOptions& options, const coap::Asked& asked,
                 coap::RequestSpec* request, ForwardShape* shape);

// Returns the options of a device's answer for the peer, in any order.
coap::OptionValues ForwardedAnswer(const ForwardOptions& options, std::string_view device,
                                   const ForwardShape& shape, const coap::OptionValues& answer);

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_DESK_FORWARD_RULES_H_
