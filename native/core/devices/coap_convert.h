// Conversions between the types of the runtime and those of the CoAP core.
#ifndef SEGANET_CORE_DEVICES_COAP_CONVERT_H_
#define SEGANET_CORE_DEVICES_COAP_CONVERT_H_

#include <string>
#include <string_view>

#include "core/devices/agent_session.h"
#include "core/protocol/coap/handler.h"

namespace seganet {

coap::Answer CoapAnswer(const RecordAnswer& answer);
CommandStart FromCoap(coap::CommandStart start);

// Returns the CoAP path of a command. Commands of every protocol have the topic cmd/{device}/rest,
// which becomes {command_path}/{device}/rest over CoAP. Other topics are returned unchanged.
std::string CoapCommandTopic(std::string_view topic, std::string_view device,
                             std::string_view command_path);

// Returns the topic filter that corresponds to observing the device's commands, or '' if the
// device's id does not fit into a filter.
std::string CoapCommandFilter(std::string_view device);

// Returns the topic of a command as its device gets it: in cmd/{device} and below it, with the
// device's `name` instead of its id. Any other topic stays.
std::string CommandTopicFor(std::string_view name, std::string_view topic, std::string_view device);

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_COAP_CONVERT_H_
