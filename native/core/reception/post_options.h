// Which requests a listener makes records of by itself.
#ifndef SEGANET_CORE_RECEPTION_POST_OPTIONS_H_
#define SEGANET_CORE_RECEPTION_POST_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/protocol/cbor/cbor_map.h"

namespace seganet {

// A POST to {prefix}/{topic} is a record, if the topic is open to the owner of the connection. What
// does not fit these options goes to the desk, and so does a request with a query, an option of
// blocks, Observe or No-Response.
struct PostOptions {
  std::vector<std::string> prefix;  // segments of the path, at least one
  // Values that Accept and Content-Format may have, if they are present.
  std::vector<uint16_t> formats;
  std::vector<uint16_t> ignored_options;
  CborBounds body;  // the payload is a CBOR map
};

}  // namespace seganet

#endif  // SEGANET_CORE_RECEPTION_POST_OPTIONS_H_
