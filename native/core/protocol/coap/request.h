#ifndef SEGANET_CORE_PROTOCOL_COAP_REQUEST_H_
#define SEGANET_CORE_PROTOCOL_COAP_REQUEST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/protocol/coap/block.h"
#include "core/protocol/coap/message.h"
#include "core/protocol/coap/settings.h"

namespace seganet::coap {

enum class Resource : uint8_t { kNone, kRecords, kCommands, kDiscovery };

// What the options of a request say. Reused from request to request, so that strings keep their
// memory: a record costs no allocation.
struct Request {
  Resource resource = Resource::kNone;
  std::string device;  // '' where the resource has none
  // kRecords: of the record. kCommands: of one command, '' = of any of the device.
  std::string topic;
  uint8_t record_class = 0;
  std::optional<Block> block1;
  std::optional<Block> block2;
  std::optional<uint32_t> observe;  // 0 = register, 1 = deregister
  std::optional<uint32_t> size1;
  std::optional<uint32_t> accept;
  std::string_view echo;    // points into the message; '' = none
  uint8_t no_response = 0;  // RFC 7967: bits of the classes that are not wanted

  // Uri's, while the options are read: segments with '/' between them, and where each begins.
  std::string path;
  std::vector<uint32_t> starts;
};

// Why a request is not served: a code and a sentence for people. kEmpty = it is.
struct Refusal {
  Code code = kEmpty;
  std::string_view why;
};

// Reads the options (RFC 7252 5.4, 5.10) and finds the resource. A refused request has the device
// set when it named one that is valid.
Refusal ParseRequest(const Message& message, const Settings& settings, Request* request);

// What tells one body from another of the same far end (RFC 7959 2.5, RFC 9175 3): the options that
// belong to a cache key, and the Request-Tag.
std::string BodyKey(const Message& message);

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_REQUEST_H_
