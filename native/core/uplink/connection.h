// A connected socket on a libuv loop, with TLS on it or without: bytes in, bytes out.
#ifndef SEGANET_CORE_UPLINK_CONNECTION_H_
#define SEGANET_CORE_UPLINK_CONNECTION_H_

#include <uv.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/uplink/tls_client.h"

namespace seganet {

// Thread safety: the loop's thread.
class Wire {
 public:
  // Each may close the wire.
  struct Listener {
    virtual ~Listener() = default;
    // TLS stands (at once without TLS): Write() may be called. Who the far end is is not checked,
    // but for the chain of its certificate.
    virtual void OnOpen() = 0;
    virtual void OnData(std::span<const uint8_t> bytes) = 0;
    // The kernel has taken all that a Write() left, at once or by a later Write().
    virtual void OnDrained() = 0;
    // Nothing comes any more. Both empty: the far end has ended it in order.
    virtual void OnEnd(const TlsFailure& why) = 0;
  };

  // Owns the connected descriptor from now on; when it fails that is still the caller's. `tls` null
  // = plain. Nothing is called from inside of it.
  static Status Make(uv_loop_t* loop, int fd, std::unique_ptr<TlsClient> tls, Listener* listener,
                     Wire** wire);

  // REQUIRES: is_open(). An error comes to OnEnd(). Nothing happens after Finish().
  void Write(std::string_view bytes);

  // Bytes that the kernel has not taken.
  size_t unsent() const { return tls_ ? tls_->pending().size() : out_.size() - sent_; }

  // Whether OnData() is wanted. What was read already is still told. The far end's end is not heard
  // meanwhile, but a reset may be.
  void Pause(bool is_paused);

  // Ends our direction when all is sent.
  void Finish();

  // The listener hears nothing any more; `closed` is called later, and then it is no more.
  void Close(std::function<void()> closed);

  // OnOpen() was called, OnEnd() and Close() were not.
  bool is_open() const { return is_open_ && !is_over_; }
  int fd() const { return fd_; }
  const TlsClient* tls() const { return tls_.get(); }

 private:
  Wire(int fd, std::unique_ptr<TlsClient> tls, Listener* listener);
  ~Wire() = default;

  static void OnPoll(uv_poll_t* poll, int status, int events);
  void OnEvents(bool has_failed, bool is_readable);
  void ReadAll(bool has_failed);
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
  int watched_ = -1;  // events
  std::string out_;   // without TLS: what is to be sent
  size_t sent_ = 0;   // of it
  bool is_open_ = false;
  bool is_over_ = false;  // ended, or closed
  bool is_closed_ = false;
  bool is_paused_ = false;
  bool is_finishing_ = false;
  bool is_shut_ = false;
  bool is_drain_due_ = false;  // OnDrained() is owed
  int error_ = 0;              // of a write: told when the loop comes to it
  std::function<void()> closed_;
  std::vector<uint8_t> buffer_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_UPLINK_CONNECTION_H_
