// The options of a CoAP request, and the resource that they address.
#ifndef SEGANET_CORE_PROTOCOL_COAP_REQUEST_H_
#define SEGANET_CORE_PROTOCOL_COAP_REQUEST_H_

#include <cstddef>
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

// The decoded options of a request. Reused for the next request: the strings keep their memory, so
// a record causes no allocation.
struct Request {
  Resource resource = Resource::kNone;
  std::string device;  // '' if the resource has no device
  // kRecords: of the record. kCommands: of the wanted commands, '' = all commands of the device.
  std::string topic;
  uint8_t record_class = 0;
  std::optional<Block> block1;
  std::optional<Block> block2;
  std::optional<uint32_t> observe;  // 0 = register, 1 = deregister
  std::optional<uint32_t> size1;
  std::optional<uint32_t> accept;
  std::string_view echo;    // points into the message; '' = none
  uint8_t no_response = 0;  // RFC 7967: bits of unwanted response classes

  // Used by Uri during parsing: the segments separated by '/', and where each begins.
  std::string path;
  std::vector<uint32_t> starts;

  // The memory that it keeps, beyond sizeof.
  size_t memory_bytes() const {
    return device.capacity() + topic.capacity() + path.capacity() +
           starts.capacity() * sizeof(uint32_t);
  }
};

// Why a request is refused: a code and a diagnostic text. kEmpty = not refused.
struct Refusal {
  Code code = kEmpty;
  std::string_view why;
};

// Reads the options (RFC 7252 5.4, 5.10) and finds the resource. Also sets the device of a refused
// request that names a valid one. `part`: of its device if Settings::parted; a request without one
// is refused.
Refusal ParseRequest(const Message& message, const Settings& settings, std::string_view part,
                     Request* request);
inline Refusal ParseRequest(const Message& message, const Settings& settings, Request* request) {
  return ParseRequest(message, settings, settings.part, request);
}

// Returns a key that distinguishes the request bodies of one peer (RFC 7959 2.5, RFC 9175 3): the
// options of the cache key, with the Request-Tag.
std::string BodyKey(const Message& message);

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_REQUEST_H_
