#ifndef SEGANET_CORE_PROTOCOL_COAP_URI_H_
#define SEGANET_CORE_PROTOCOL_COAP_URI_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/protocol/coap/request.h"
#include "core/protocol/coap/settings.h"

namespace seganet::coap {

// Collects the Uri-Path and Uri-Query options of one request, in the request's own memory, and
// finds its resource.
class Uri {
 public:
  static constexpr size_t kMaxSegments = 128;

  Uri(const Settings& settings, Request* request) : settings_(settings), request_(request) {
    request_->path.clear();
    request_->starts.clear();
  }

  Refusal AddPath(std::string_view segment);
  Refusal AddQuery(std::string_view query);

  // Sets resource, device, topic and record_class. The last thing to be called.
  Refusal Resolve();

 private:
  // The segment after `prefix`; npos when that is not in front.
  size_t After(std::string_view prefix) const;

  const Settings& settings_;
  Request* const request_;
  std::string_view device_, topic_;
  bool has_device_ = false, has_topic_ = false;
  uint8_t record_class_ = 0;
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_URI_H_
