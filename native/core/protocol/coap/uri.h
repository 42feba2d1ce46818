#ifndef SEGANET_CORE_PROTOCOL_COAP_URI_H_
#define SEGANET_CORE_PROTOCOL_COAP_URI_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/protocol/coap/request.h"
#include "core/protocol/coap/settings.h"

namespace seganet::coap {

// Collects the Uri-Path and Uri-Query options of one request and finds its resource.
class Uri {
 public:
  static constexpr size_t kMaxSegments = 128;

  explicit Uri(const Settings& settings) : settings_(settings) {}

  Refusal AddPath(std::string_view segment);
  Refusal AddQuery(std::string_view query);

  // Sets resource, device, topic and record_class.
  Refusal Resolve(Request* request) const;

 private:
  // Where in path_ the part after `prefix` begins; npos when it is not in front.
  size_t After(std::string_view prefix) const;

  const Settings& settings_;
  std::string path_;  // segments with '/' between them
  std::vector<uint32_t> starts_;
  std::string_view device_, topic_;
  bool has_device_ = false, has_topic_ = false;
  uint8_t record_class_ = 0;
};

// 1..8, or the name of a class; 0 = neither.
uint8_t ClassOfText(std::string_view text);

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_URI_H_
