#ifndef SEGANET_CORE_PROTOCOL_COAP_STREAM_STREAM_SESSION_H_
#define SEGANET_CORE_PROTOCOL_COAP_STREAM_STREAM_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/protocol/close_reason.h"
#include "core/protocol/coap/handler.h"
#include "core/protocol/coap/settings.h"

namespace seganet::coap {

class StreamImpl;

// The server's end of one device's CoAP connection over TCP or TLS (RFC 8323): bytes in, events and
// bytes out. No socket, no clock, no thread. Our CSM is the acceptor's to send: InitialBytes().
//
// The owner closes the socket when Feed() returns a reason, after sending output(). kDisconnected:
// the device sent Release.
//
// Thread safety: none; owned by one worker.
class StreamSession {
 public:
  using CommandStart = coap::CommandStart;

  // Requests that name another device get 4.03. now_us: as for OnTime.
  // REQUIRES: handler outlives the session.
  StreamSession(Handler* handler, const Settings& settings, const Limits& limits,
                std::string device, int64_t now_us);
  ~StreamSession();
  StreamSession(const StreamSession&) = delete;
  StreamSession& operator=(const StreamSession&) = delete;

  // Messages within the first n bytes were answered by PeekStream(). To be called before Feed().
  void SkipAnswered(size_t n);

  // Takes all bytes, in pieces of any size. Returns kNone, or why the connection must be closed;
  // the reason then stays and further bytes are ignored.
  [[nodiscard]] CloseReason Feed(std::span<const uint8_t> bytes);

  // One of the acknowledgements that OnRecord announced; the last one lets 2.04 go. Answers need
  // not be in the order of the requests: tokens tell them apart. False, and no effect, when the
  // slot is not waiting or the session is closed.
  bool Acknowledge(uint64_t slot);

  // A notification and a Ping, whose Pong tells that it was taken (RFC 8323 5.4); one that goes
  // block by block was taken when its last block was asked for.
  CommandStart Command(uint64_t id, std::string_view topic, std::string_view payload);

  // To be called about once a second. False: the device was silent in spite of a Ping, close.
  [[nodiscard]] bool OnTime(int64_t now_us);

  // Tells the device to connect elsewhere (7.04), for a stop. Requests after it get 5.03.
  void Release();

  // Bytes to send. Valid until the next call of anything but a const function.
  std::string_view output() const;
  // REQUIRES: n <= output().size().
  void ConsumeOutput(size_t n);

  // The device has too much outstanding: stop reading its socket until this is false.
  bool WantsPause() const;

  CloseReason close_reason() const;
  const std::string& device() const;
  // It observes a command resource.
  bool listening() const;
  size_t unacknowledged() const;

  // Memory for the message that is split over reads; and all that the session holds beyond itself.
  size_t buffered_bytes() const;
  size_t partial_bytes() const;
  size_t memory_bytes() const;

 private:
  std::unique_ptr<StreamImpl> impl_;
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_STREAM_STREAM_SESSION_H_
