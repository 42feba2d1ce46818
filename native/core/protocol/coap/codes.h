// Numbers that the CoAP specifications assign: RFC 7252 12, RFC 7641, RFC 7959, RFC 7967, RFC 8132,
// RFC 8323 11, RFC 8516, RFC 8768, RFC 9175.
#ifndef SEGANET_CORE_PROTOCOL_COAP_CODES_H_
#define SEGANET_CORE_PROTOCOL_COAP_CODES_H_

#include <cstddef>
#include <cstdint>

namespace seganet::coap {

enum class Type : uint8_t { kConfirmable, kNonConfirmable, kAcknowledgement, kReset };

// c.dd: the class in the upper three bits, the detail in the lower five.
enum Code : uint8_t {
  kEmpty = 0,
  kGet = 1,
  kPost = 2,
  kPut = 3,
  kDelete = 4,
  kFetch = 5,  // RFC 8132: only forwarded, as the next two
  kPatch = 6,
  kIPatch = 7,
  kCreated = 0x41,             // 2.01
  kDeleted = 0x42,             // 2.02
  kValid = 0x43,               // 2.03
  kChanged = 0x44,             // 2.04
  kContent = 0x45,             // 2.05
  kContinue = 0x5F,            // 2.31
  kBadRequest = 0x80,          // 4.00
  kUnauthorized = 0x81,        // 4.01
  kBadOption = 0x82,           // 4.02
  kForbidden = 0x83,           // 4.03
  kNotFound = 0x84,            // 4.04
  kMethodNotAllowed = 0x85,    // 4.05
  kNotAcceptable = 0x86,       // 4.06
  kEntityIncomplete = 0x88,    // 4.08
  kPreconditionFailed = 0x8C,  // 4.12
  kEntityTooLarge = 0x8D,      // 4.13
  kUnsupportedFormat = 0x8F,   // 4.15
  kTooManyRequests = 0x9D,     // 4.29
  kInternalError = 0xA0,       // 5.00
  kBadGateway = 0xA2,          // 5.02
  kUnavailable = 0xA3,         // 5.03
  kGatewayTimeout = 0xA4,      // 5.04
  kProxying = 0xA5,            // 5.05
  kHopLimitReached = 0xA8,     // 5.08
  kCsm = 0xE1,                 // 7.01
  kPing = 0xE2,
  kPong = 0xE3,
  kRelease = 0xE4,
  kAbort = 0xE5,
};
inline constexpr uint8_t ClassOf(uint8_t code) { return code >> 5; }
inline constexpr uint8_t kSignalClass = 7;

// Odd numbers are critical: a receiver that does not know the option refuses the message
// (RFC 7252 5.4.1).
enum Option : uint16_t {
  kIfMatch = 1,
  kUriHost = 3,
  kETag = 4,
  kIfNoneMatch = 5,
  kObserve = 6,
  kUriPort = 7,
  kLocationPath = 8,
  kUriPath = 11,
  kContentFormat = 12,
  kMaxAge = 14,
  kUriQuery = 15,
  kAccept = 17,
  kBlock2 = 23,
  kBlock1 = 27,
  kSize2 = 28,
  kProxyUri = 35,
  kProxyScheme = 39,
  kSize1 = 60,
  kEcho = 252,
  kNoResponse = 258,
  kRequestTag = 292,
};

// Options of signaling messages. A number has a different meaning in each signal (RFC 8323 5.2).
enum SignalOption : uint16_t {
  kMaxMessageSize = 2,      // CSM
  kBlockWiseTransfer = 4,   // CSM
  kCustody = 2,             // Ping, Pong
  kAlternativeAddress = 2,  // Release
  kHoldOff = 4,             // Release
  kBadCsmOption = 2,        // Abort
};

inline constexpr uint16_t kLinkFormat = 40;  // application/link-format, RFC 6690
inline constexpr size_t kMaxTokenBytes = 8;
inline constexpr uint32_t kBaseMessageBytes = 1152;  // a stream peer's limit until its CSM

// RFC 7252 4.8. All times are in us.
inline constexpr int64_t kSecondUs = 1'000'000;
inline constexpr int64_t kAckTimeoutUs = 2 * kSecondUs;
inline constexpr int kMaxRetransmit = 4;
inline constexpr int64_t kMaxTransmitWaitUs = 93 * kSecondUs;
inline constexpr int64_t kExchangeLifetimeUs = 247 * kSecondUs;
// A response that takes longer follows separately, after an empty ACK. The ACK leaves before a
// device with an ACK_TIMEOUT of 2 s retransmits.
inline constexpr int64_t kSeparateAfterUs = 1'500'000;

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_CODES_H_
