// Finds device, topic and class in the path and query of a CoAP request.
#ifndef SEGANET_CORE_PROTOCOL_COAP_URI_H_
#define SEGANET_CORE_PROTOCOL_COAP_URI_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/protocol/coap/request.h"
#include "core/protocol/coap/settings.h"

namespace seganet::coap {

// Collects the Uri-Path and Uri-Query options of one request in the request's own memory, and finds
// its resource.
class Uri {
 public:
  static constexpr size_t kMaxSegments = 128;

  // `part`: of the device, if Settings::parted.
  Uri(const Settings& settings, std::string_view part, Request* request)
      : settings_(settings), part_(part), request_(request) {
    request_->path.clear();
    request_->starts.clear();
  }

  // Each returns kEmpty, or why the request is refused.
  Refusal AddPath(std::string_view segment);
  Refusal AddQuery(std::string_view query);

  // Sets the request's resource, device, topic and record_class. Must be the last call.
  Refusal Resolve();

 private:
  // Returns the index of the segment after `prefix`; npos if the path does not begin with it.
  size_t After(std::string_view prefix) const;

  const Settings& settings_;
  const std::string_view part_;
  Request* const request_;
  std::string_view device_, topic_;
  bool has_device_ = false, has_topic_ = false;
  uint8_t record_class_ = 0;
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_URI_H_
