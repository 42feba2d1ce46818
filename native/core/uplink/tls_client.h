// A TLS 1.2 and 1.3 client without a socket: the caller moves the bytes from and to the network.
#ifndef SEGANET_CORE_UPLINK_TLS_CLIENT_H_
#define SEGANET_CORE_UPLINK_TLS_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/tls/tls_failure.h"
#include "core/uplink/tls_context.h"

struct bio_st;
struct ssl_st;

namespace seganet {

// One connection. The handshake verifies the broker's certificate chain, but NOT that the
// certificate is for the broker's host: the owner must check PeerCertificate() (Node's
// tls.checkServerIdentity) before the first Write. Sessions are not resumed, and renegotiation is
// disabled. Read handles new tickets and keys of TLS 1.3.
//
// After Start and every Receive, Read, Write and Close there may be bytes pending(), also in
// kFailed: the alert that gives the broker the reason.
//
// The owner must detect the end of the TCP connection. In kHandshake and kOpen, the broker then has
// not closed TLS in order (Node: ECONNRESET). Read never returns part of a damaged record.
//
// Thread safety: one thread at a time. Calls clear that thread's queue of OpenSSL errors.
class TlsClient {
 public:
  enum class State : uint8_t {
    kHandshake,
    kOpen,
    kEnded,   // by the broker's close_notify
    kFailed,  // failure() has the reason
  };

  // REQUIRES: `context` is from TlsContext::Make.
  explicit TlsClient(std::shared_ptr<TlsContext> context);
  ~TlsClient();
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  // Makes the ClientHello. Call it once, before all other functions.
  void Start();

  // Takes bytes from the network, split anywhere, and continues the handshake. In kOpen, call Read
  // until it returns 0: data may follow the end of the handshake, and only Read handles alerts and
  // close_notify. Bytes that are not read stay in memory, so do not call Receive without Read.
  void Receive(std::span<const uint8_t> bytes);

  State state() const { return state_; }

  // Decrypts available bytes into `into` and returns their number; 0 = none yet, or state() is no
  // longer kOpen.
  size_t Read(std::span<uint8_t> into);

  // Encrypts all bytes into pending(), in TLS records of at most 16 KiB. No effect unless state()
  // is kOpen and Close was not called.
  void Write(std::string_view plain);

  // Returns the bytes to send to the network. Valid until the next call of another function.
  std::string_view pending() const;
  // Removes pending bytes that were sent. REQUIRES: bytes <= pending().size().
  void Sent(size_t bytes);

  // Sends close_notify (RFC 8446 6.1). Data of the broker can still be read. Idempotent; no effect
  // before kOpen.
  void Close();

  // Returns the reason for kFailed.
  const TlsFailure& failure() const { return failure_; }

  // Returns the broker's certificate, DER; empty before kOpen.
  std::string PeerCertificate() const;
  std::string protocol() const;  // "TLSv1.3"; empty before kOpen
  std::string alpn() const;      // the broker's choice; empty = none

 private:
  void Handshake();
  // Updates the state after an incomplete call of OpenSSL.
  void CheckResult(int result);
  void Fail();

  const std::shared_ptr<TlsContext> context_;
  ssl_st* ssl_ = nullptr;
  bio_st* in_ = nullptr;   // of ssl_
  bio_st* out_ = nullptr;  // of ssl_
  State state_ = State::kHandshake;
  bool opened_ = false;
  bool closed_ = false;  // Close was called
  TlsFailure failure_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_UPLINK_TLS_CLIENT_H_
