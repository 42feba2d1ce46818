// Options of a listener whose requests go to a request desk.
#ifndef SEGANET_CORE_PROTOCOL_COAP_STREAM_STREAM_OPTIONS_H_
#define SEGANET_CORE_PROTOCOL_COAP_STREAM_STREAM_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace seganet::coap {

// How a StreamSession serves a connection. The defaults are those of a listener without a desk.
struct StreamOptions {
  // True: a connection begins without a device, which Identify() sets. Until then, requests that do
  // not go to the desk get 4.01, discovery excepted.
  bool identifies = false;
  // False: a first message other than a CSM closes the connection (RFC 8323 5.3). True: the base
  // values apply until a CSM comes.
  bool csm_optional = false;
  // Requests whose path begins with one of these go to Handler::OnAsked(). One or more segments,
  // separated by '/'; '' = all requests.
  std::vector<std::string> prefixes;
  // Critical options beyond those of RFC 7252 and RFC 7959 that these requests may have.
  std::vector<uint16_t> known_options;
  // Requests at the desk without an answer; a further one gets 5.03 with Max-Age 1.
  size_t max_asked = 64;
  // Observations that the desk serves; a further one is answered as if it had no Observe option.
  size_t max_relations = 256;
  // Before Identify(): requests at the desk without an answer, and bytes received. More bytes close
  // the connection.
  size_t max_asked_before = 8;
  size_t max_bytes_before = 8192;
  // Requests to the device without an answer, and observations at the device.
  size_t max_asks = 32;
  size_t max_observations = 64;

  bool operator==(const StreamOptions&) const = default;
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_STREAM_STREAM_OPTIONS_H_
