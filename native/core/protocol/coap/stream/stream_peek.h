#ifndef SEGANET_CORE_PROTOCOL_COAP_STREAM_STREAM_PEEK_H_
#define SEGANET_CORE_PROTOCOL_COAP_STREAM_STREAM_PEEK_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/protocol/close_reason.h"
#include "core/protocol/coap/settings.h"

namespace seganet::coap {

// Our CSM (RFC 8323 5.3). The acceptor sends it at once; a StreamSession does not send it again.
std::string InitialBytes(const Settings& settings);

// What an acceptor learns from the first bytes of a connection. It hands the socket and these same
// bytes to the worker that owns the device, whose StreamSession parses them again.
struct StreamPeek {
  enum class Status : uint8_t {
    kNeedMore,  // send `answer`, read on, and call again with all bytes since the first
    kOk,        // `device` is known, from the first request that names one
    kRefuse,    // send `answer` and close; `reason` is the counter
  };
  Status status = Status::kNeedMore;
  CloseReason reason = CloseReason::kNone;
  std::string device;
  // kNeedMore: Pongs and discovery, which have to be answered before a device is known. kRefuse: an
  // Abort. kOk: nothing, or as with kNeedMore.
  std::string answer;
  // Messages within so many of the first bytes were answered: to be given to the next call, and to
  // StreamSession::SkipAnswered().
  size_t answered = 0;
};

// REQUIRES: bytes begins with the connection's first byte; answered is of the call before, first 0.
// Options tell the device, so a request need not be whole. More than max_bytes without a device is
// refused with kTooLarge, so never keep more than max_bytes.
StreamPeek PeekStream(std::span<const uint8_t> bytes, const Settings& settings, size_t max_bytes,
                      size_t answered = 0);

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_STREAM_STREAM_PEEK_H_
