#include "core/reception/coap_handshake.h"

#include <span>

#include "core/protocol/coap/stream/stream_peek.h"

namespace seganet {
namespace {

// Enough for a CSM, some Pings, a GET of /.well-known/core and the options of a request. The limit
// is small because all of it is parsed again whenever more bytes arrive.
constexpr size_t kMaxIntroductionBytes = 8192;

// 7.05 Abort with a diagnostic payload (RFC 8323 5.6): length 12, no token.
constexpr std::string_view kNotAllowed = "\xC0\xE5\xFFnot allowed";

}  // namespace

std::string CoapHandshake::InitialBytes() const { return coap::InitialBytes(settings_); }

Introduction CoapHandshake::Listen(std::string_view bytes, size_t answered) const {
  const std::span<const uint8_t> span(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  coap::StreamPeek peek = coap::PeekStream(span, settings_, kMaxIntroductionBytes, answered);
  Introduction introduction;
  introduction.answered = peek.answered;
  introduction.answer = std::move(peek.answer);
  switch (peek.status) {
    case coap::StreamPeek::Status::kNeedMore:
      break;
    case coap::StreamPeek::Status::kOk:
      introduction.status = Introduction::Status::kDevice;
      introduction.device = std::move(peek.device);
      break;
    case coap::StreamPeek::Status::kRefuse:
      introduction.status = Introduction::Status::kRefused;
      introduction.reason = peek.reason;
      break;
  }
  return introduction;
}

std::string CoapHandshake::LoginRefusal(uint8_t) const { return std::string(kNotAllowed); }

std::string DeskHandshake::InitialBytes() const { return coap::InitialBytes(settings_); }

Introduction DeskHandshake::Listen(std::string_view, size_t) const {
  Introduction introduction;
  introduction.status = Introduction::Status::kDevice;
  return introduction;
}

}  // namespace seganet
