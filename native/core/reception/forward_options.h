// Which requests a listener passes from one device's connection to another's by itself.
#ifndef SEGANET_CORE_RECEPTION_FORWARD_OPTIONS_H_
#define SEGANET_CORE_RECEPTION_FORWARD_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace seganet {

// An option that a forwarded request keeps, and its form.
struct ForwardedOption {
  uint16_t number = 0;
  size_t least_bytes = 0;
  size_t most_bytes = 0;
  size_t most = 1;  // times in one request
};

// The one content format of the devices.
struct ForwardFormat {
  uint16_t value = 0;
  // Peers may name this one instead, and get it in the answers to requests that accept it.
  uint16_t alias = 0;
  // Options with the version of the format: beside Accept and beside Content-Format. Only peers
  // that send one of them get the second one, which may be critical.
  uint16_t accept_option = 0;
  uint16_t content_option = 0;
  uint16_t version = 0;
};

// A request to {prefix}/{device}/{path} goes to the device as a request to {path}. What does not
// fit these options goes to the desk.
struct ForwardOptions {
  std::vector<std::string> prefix;       // segments of the path, at least one
  int64_t timeout_us = 10'000'000;       // for the device's answer
  std::vector<ForwardedOption> options;  // beside Uri-Query, Accept and Content-Format
  size_t most_queries = 32;
  std::vector<uint16_t> answer_options;
  // Without it, Accept and Content-Format are options as all others.
  std::optional<ForwardFormat> format;
};

}  // namespace seganet

#endif  // SEGANET_CORE_RECEPTION_FORWARD_OPTIONS_H_
