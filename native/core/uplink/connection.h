// A connected socket on a libuv loop, with or without TLS, as a stream of plain bytes.
#ifndef SEGANET_CORE_UPLINK_CONNECTION_H_
#define SEGANET_CORE_UPLINK_CONNECTION_H_

#include <uv.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/uplink/tls_client.h"
#include "core/uplink/turn_lock.h"

namespace seganet {

// Thread safety: the loop's thread only; with UseTurn, also other threads in turns.
class Connection {
 public:
  // Receives the events. Each function may close the connection.
  struct Listener {
    virtual ~Listener() = default;
    // The connection is open: with TLS after the handshake, without TLS as soon as the loop runs.
    // Write() may be called. With TLS, the certificate chain is valid, but the caller must check
    // that the certificate is the peer's.
    virtual void OnOpen() = 0;
    virtual void OnData(std::span<const uint8_t> bytes) = 0;
    // The kernel has accepted all bytes that a Write() left pending.
    virtual void OnDrained() = 0;
    // The connection has ended; no more data arrives. If `why` is empty, the peer closed it in
    // order.
    virtual void OnEnd(const TlsFailure& why) = 0;
  };

  // Makes a connection on `fd`, a connected socket. On success, the connection owns `fd`; on
  // failure, the caller still does. `tls` null = no TLS. Does not call the listener.
  static Status Make(uv_loop_t* loop, int fd, std::unique_ptr<TlsClient> tls, Listener* listener,
                     Connection** connection);

  // Sends `bytes`, and buffers what the kernel does not accept. An error is reported by OnEnd(). No
  // effect after Finish() or OnEnd(). REQUIRES: OnOpen() or OnEnd() was called.
  void Write(std::string_view bytes);

  // The loop holds `turn` while it handles events of the connection. After that, another thread
  // that holds it may call WriteAside, unsent and is_open, and the loop's thread must hold it for
  // every call.
  void UseTurn(std::shared_ptr<TurnLock> turn) { turn_ = std::move(turn); }
  // As Write, from another thread. Returns false if the loop's thread must call Rewatch, because
  // the kernel has not accepted all bytes, or because of an error.
  bool WriteAside(std::string_view bytes);
  // Watches for what another thread has left to the loop.
  void Rewatch() { Watch(); }

  // True: the loop does not read, because another thread calls ReadAside.
  void LeaveReading(bool is_left) {
    is_read_aside_ = is_left;
    Watch();
  }
  // False if the loop has something to do first, or must see what arrives.
  bool may_leave_reading() const {
    return is_open_ && !is_over_ && !is_paused_ && !is_finishing_ && !is_event_due_ &&
           unsent() == 0 && !IsBroken();
  }
  // Returns a descriptor of the same socket, which the caller owns, or -1. The socket is shut down
  // when the connection closes, so what waits for that descriptor ends.
  int Duplicate();
  // Reads what has arrived, once. Passes it to `on_data`, not to the listener. Returns false if the
  // loop must go on: at the end of the connection, after an error, while reading is paused, or
  // because the kernel has not accepted all bytes. REQUIRES: LeaveReading(true).
  bool ReadAside(const std::function<void(std::span<const uint8_t>)>& on_data);
  // The loop reads again. It calls the listener's OnData soon, even if nothing has arrived. The
  // loop's thread must call Rewatch.
  void ReturnReading() {
    is_read_aside_ = false;
    is_event_due_ = true;
  }

  // Returns the number of bytes that the kernel has not accepted.
  size_t unsent() const { return tls_ ? tls_->pending().size() : out_.size() - sent_; }

  // Pauses or resumes OnData(). Data that was already read still arrives. While paused, the end of
  // the connection is not noticed, but a reset may be.
  void Pause(bool is_paused);

  // Ends the sending direction when everything is sent.
  void Finish();

  // Closes the connection. The listener is not called again. Calls `closed` later on the loop, when
  // the connection is deleted.
  void Close(std::function<void()> closed);

  // True after OnOpen(), until OnEnd() or Close().
  bool is_open() const { return is_open_ && !is_over_; }
  int fd() const { return fd_; }
  const TlsClient* tls() const { return tls_.get(); }

 private:
  Connection(int fd, std::unique_ptr<TlsClient> tls, Listener* listener);
  ~Connection() = default;

  static void OnPoll(uv_poll_t* poll, int status, int events);
  static void OnDue(uv_timer_t* due);
  static void OnClosed(uv_handle_t* handle);
  // OnEvents, with the turn.
  void Handle(bool has_failed, bool is_readable);
  void OnEvents(bool has_failed, bool is_readable);
  void ReadAll(bool has_failed);
  void Put(std::string_view bytes);
  void Decrypt();
  void Flush();
  void Sent(size_t bytes);
  void Watch();
  bool IsBroken() const;
  void End(const TlsFailure& why);
  void Fail(int error);
  std::string_view ToSend() const;

  int fd_;
  std::unique_ptr<TlsClient> tls_;
  Listener* listener_;
  uv_poll_t poll_{};
  uv_timer_t due_{};  // fires at once while is_event_due_
  int open_handles_ = 2;
  int watched_ = -1;  // events
  std::string out_;   // without TLS: bytes to send
  size_t sent_ = 0;   // bytes of out_ that were sent
  bool is_open_ = false;
  bool is_over_ = false;  // ended, or closed
  bool is_closed_ = false;
  bool is_paused_ = false;
  bool is_finishing_ = false;
  bool is_shut_ = false;
  bool is_drain_due_ = false;   // OnDrained() must be called
  bool is_read_aside_ = false;  // by another thread
  bool is_event_due_ = false;   // OnData() must be called, see ReturnReading
  bool has_duplicates_ = false;
  int error_ = 0;  // of a write; reported from the loop
  std::function<void()> closed_;
  std::shared_ptr<TurnLock> turn_;  // null = no other thread uses the connection
  std::vector<uint8_t> buffer_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_UPLINK_CONNECTION_H_
