// The gateway's end of CoAP over TCP or TLS.
#ifndef SEGANET_CORE_PROTOCOL_COAP_STREAM_STREAM_SESSION_H_
#define SEGANET_CORE_PROTOCOL_COAP_STREAM_STREAM_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/protocol/close_reason.h"
#include "core/protocol/coap/exchange.h"
#include "core/protocol/coap/handler.h"
#include "core/protocol/coap/settings.h"
#include "core/protocol/coap/stream/stream_options.h"
#include "core/protocol/coap/stream/stream_setup.h"

namespace seganet::coap {

class StreamImpl;

// The gateway's end of one CoAP connection over TCP or TLS (RFC 8323): bytes in, events and bytes
// out. It has no socket, no clock and no thread. The acceptor sends our CSM: InitialBytes().
//
// The gateway is the server of records and commands. With StreamOptions it also passes requests to
// a desk (Answer) and is the client of the device's own resources (Ask).
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
  StreamSession(Handler* handler, std::shared_ptr<const StreamSetup> setup, std::string device,
                int64_t now_us);
  // The same with a setup of its own.
  StreamSession(Handler* handler, const Settings& settings, const Limits& limits,
                std::string device, int64_t now_us, const StreamOptions& options = {});
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

  // Sets the device of the connection, which had none.
  // REQUIRES: StreamOptions::identifies, and !device.empty().
  void Identify(std::string device);
  // The connection no longer has a device. Its observations at the desk end without an answer, and
  // its requests to the device end without OnAskAnswer().
  void Forget();

  // Answers the request with this token (OnAsked). If the request registers an observation and
  // `options` has Observe, further calls send notifications, until one has no Observe or is an
  // error. The body goes in blocks if it does not fit into a message of the peer (RFC 7959, 3.4;
  // RFC 8323 6). False, and no effect, when no request or observation has this token.
  bool Answer(std::string_view token, uint8_t code, OptionValues options, std::string_view payload);
  // Requests at the desk without an answer.
  size_t asked() const;
  // The desk has decided about a request: later requests cannot overtake it. No effect for a token
  // without such a request.
  void Settle(std::string_view token);
  // Requests at the desk that are neither answered nor settled.
  size_t unsettled() const;

  // The same as Answer() for a request that the owner took (Taker::kOwner); `id` is Asked::id.
  bool AnswerOwn(std::string_view token, uint64_t id, uint8_t code, OptionValues options,
                 std::string_view payload);
  // Leaves a request that the owner took to the desk. False, and no effect, for an unknown one.
  bool PassToDesk(std::string_view token, uint64_t id);
  // Makes a record of a plain request that the owner took: OnRecord() follows in this call, and its
  // answer is that of any record. Sets record.handle. False, and no effect, for an unknown request.
  bool RecordOwn(std::string_view token, uint64_t id, const Incoming& record);
  // Answers all requests that the owner took with 5.03.
  void EndOwn();

  // Sends a request to the device. After kSent, OnAskAnswer(id) follows, unless Cancel() or
  // Forget() is called or the session ends. Tokens are never used again, so late answers are
  // ignored. REQUIRES: `id` is not in use.
  AskStart Ask(uint64_t id, const RequestSpec& request);
  // Ends a request. An observation is deregistered at the device (RFC 7641 3.6). No effect for an
  // unknown id.
  void Cancel(uint64_t id);

  // Must be called about once a second with the time of a monotonic clock, us. False when the
  // device did not answer a Ping: the owner then closes the connection. A session that was silent
  // for a second frees its empty buffers.
  [[nodiscard]] bool OnTime(int64_t now_us);
  // The owner reads the socket again after a pause, which is not a silence of the device.
  void OnResumed();

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
