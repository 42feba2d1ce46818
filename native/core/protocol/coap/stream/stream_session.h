// The server's end of CoAP over TCP or TLS.
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
// bytes out. It has no socket, no clock and no thread. The acceptor sends our CSM: InitialBytes().
//
// When Feed() returns a reason, the owner sends output() and closes the socket. kDisconnected: the
// device sent Release.
//
// Thread safety: none; owned by one worker.
class StreamSession {
 public:
  using CommandStart = coap::CommandStart;

  // Serves `device`; requests that name another device get 4.03. now_us: as for OnTime().
  // REQUIRES: handler outlives the session.
  StreamSession(Handler* handler, const Settings& settings, const Limits& limits,
                std::string device, int64_t now_us);
  ~StreamSession();
  StreamSession(const StreamSession&) = delete;
  StreamSession& operator=(const StreamSession&) = delete;

  // The messages in the first n bytes are skipped: PeekStream() answered them.
  // REQUIRES: called before the first Feed().
  void SkipAnswered(size_t n);

  // Takes all bytes, in pieces of any size. Returns kNone, or why the connection must be closed.
  // The reason does not change after that, and further bytes are ignored.
  [[nodiscard]] CloseReason Feed(std::span<const uint8_t> bytes);

  // Counts one of the acknowledgements that OnRecord announced (Answer::copies); the last one sends
  // 2.04. `handle` is Incoming::handle. Responses may leave in any order, because tokens identify
  // them. False, and no effect, when the handle is not waiting or the session is closed.
  bool Acknowledge(uint64_t handle);

  // Sends a notification and a Ping, whose Pong confirms that the device took it (RFC 8323 5.4). A
  // command in blocks is taken when the device requests its last block.
  CommandStart Command(uint64_t id, std::string_view topic, std::string_view payload);

  // Must be called about once a second with the time of a monotonic clock, us. False when the
  // device did not answer a Ping: the owner then closes the connection.
  [[nodiscard]] bool OnTime(int64_t now_us);

  // Asks the device to disconnect (Release, 7.04), before a stop. Later requests get 5.03.
  void Release();

  // Bytes to send. Valid until the next call of a non-const function.
  std::string_view output() const;
  // Removes the first n bytes of output().
  // REQUIRES: n <= output().size().
  void ConsumeOutput(size_t n);

  // True if the device has too much outstanding. The owner stops reading its socket until this
  // becomes false.
  bool WantsPause() const;

  CloseReason close_reason() const;
  const std::string& device() const;
  // True if the device observes a command resource.
  bool listening() const;
  // Records that are not safe yet.
  size_t unacknowledged() const;

  // Capacity of the buffer for an incomplete message, and the bytes in it.
  size_t buffered_bytes() const;
  size_t partial_bytes() const;
  // All memory of the session.
  size_t memory_bytes() const;

 private:
  std::unique_ptr<StreamImpl> impl_;
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_STREAM_STREAM_SESSION_H_
