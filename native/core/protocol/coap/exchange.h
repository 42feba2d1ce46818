// Requests and answers that pass through the gateway whole: those that a peer sends to a request
// desk, and those that the gateway sends to a device.
#ifndef SEGANET_CORE_PROTOCOL_COAP_EXCHANGE_H_
#define SEGANET_CORE_PROTOCOL_COAP_EXCHANGE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace seganet::coap {

// An option of a message; the value is at most kMaxOptionBytes.
struct OptionValue {
  uint16_t number = 0;
  std::string value;

  bool operator==(const OptionValue&) const = default;
};
using OptionValues = std::vector<OptionValue>;
inline constexpr size_t kMaxOptionBytes = 1034;  // Proxy-Uri is the longest (RFC 7252 5.10)

// A request of a peer, reassembled if it came in blocks. Views are valid during the call only.
struct Asked {
  uint64_t id = 0;            // number of the request at its session, never 0
  bool reuses_token = false;  // the peer has an observation with this token
  bool is_plain = false;      // one message, without No-Response and the options of blocks
  uint8_t code = 0;           // the method
  std::string_view token;
  std::vector<std::string_view> path;   // UTF-8 without U+0000, no "." or ".."
  std::vector<std::string_view> query;  // UTF-8 without U+0000
  // The other options in ascending order, without Uri-Host, Uri-Port, Block1, Block2, Size1, Size2
  // and No-Response, which the session handles.
  OptionValues options;
  std::string_view payload;
};

// A request to a device.
struct RequestSpec {
  uint8_t code = 0;  // the method
  std::vector<std::string> path;
  std::vector<std::string> query;
  // Further options in any order. Those that the session sets itself are ignored: Observe,
  // Uri-Path, Uri-Query and the options of blocks.
  OptionValues options;
  std::string payload;
  bool observe = false;
};

// A device's answer or notification, reassembled if it came in blocks.
struct AskAnswer {
  uint8_t code = 0;
  OptionValues options;  // in ascending order, without the options of blocks
  std::string payload;
  bool observed = false;  // notifications follow
  bool failed = false;    // not of the device: the gateway says why there is no answer
};

// The result of StreamSession::Ask().
enum class AskStart : uint8_t {
  kSent,
  kBusy,      // too many requests of this device are open, or it does not read its output
  kTooLarge,  // the options do not fit into a message of the device
  kClosed,    // the connection is closing
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_EXCHANGE_H_
