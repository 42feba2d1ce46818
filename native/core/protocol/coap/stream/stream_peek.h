// Finds the device of a new CoAP connection over TCP or TLS.
#ifndef SEGANET_CORE_PROTOCOL_COAP_STREAM_STREAM_PEEK_H_
#define SEGANET_CORE_PROTOCOL_COAP_STREAM_STREAM_PEEK_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/protocol/close_reason.h"
#include "core/protocol/coap/settings.h"

namespace seganet::coap {

// Returns our CSM (RFC 8323 5.3). The acceptor sends it as soon as the connection opens; a
// StreamSession does not send it again.
std::string InitialBytes(const Settings& settings);

// The result for the first bytes of a connection. With kOk the acceptor passes the socket and these
// bytes to the worker that owns the device, whose StreamSession parses them again.
struct StreamPeek {
  enum class Status : uint8_t {
    kNeedMore,  // send `answer`, read on, and call again with all bytes since the first
    kOk,        // `device` is known, from the first request that names one
    kRefuse,    // send `answer` and close; see `reason`
  };
  Status status = Status::kNeedMore;
  CloseReason reason = CloseReason::kNone;
  std::string device;
  // Bytes to send. kNeedMore: Pongs and discovery, which must be answered before the device is
  // known. kRefuse: an Abort. kOk: empty, or as for kNeedMore.
  std::string answer;
  // The messages in this many first bytes are answered. Pass it to the next call and to
  // StreamSession::SkipAnswered().
  size_t answered = 0;
};

// Examines the first bytes of a connection. The options name the device, so a request need not be
// complete. max_bytes or more without a device are refused with kTooLarge, so the caller never
// needs to keep more.
// REQUIRES: bytes begins with the connection's first byte; answered is that of the previous call, 0
// at first.
StreamPeek PeekStream(std::span<const uint8_t> bytes, const Settings& settings, size_t max_bytes,
                      size_t answered = 0);

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_STREAM_STREAM_PEEK_H_
