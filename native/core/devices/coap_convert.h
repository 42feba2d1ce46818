// What the runtime says, in the words of the CoAP core, and back.
#ifndef SEGANET_CORE_DEVICES_COAP_CONVERT_H_
#define SEGANET_CORE_DEVICES_COAP_CONVERT_H_

#include <string>
#include <string_view>

#include "core/devices/agent_session.h"
#include "core/protocol/coap/handler.h"

namespace seganet {

coap::Answer CoapAnswer(const RecordAnswer& answer);
CommandStart FromCoap(coap::CommandStart start);

// Commands come as cmd/{device}/rest whatever the protocol; over CoAP that is
// {command_path}/{device}/rest. Other topics stay as they are.
std::string CoapCommandTopic(std::string_view topic, std::string_view device,
                             std::string_view command_path);

// What a device would have to subscribe to over MQTT for the commands that it observes; '' when its
// id is not fit for a filter.
std::string CoapCommandFilter(std::string_view device);

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_COAP_CONVERT_H_
