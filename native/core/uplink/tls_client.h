// TLS 1.2 and 1.3 to a broker, without a socket: bytes of the network go in and come out.
#ifndef SEGANET_CORE_UPLINK_TLS_CLIENT_H_
#define SEGANET_CORE_UPLINK_TLS_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/uplink/tls_context.h"
#include "core/uplink/tls_failure.h"

struct bio_st;
struct ssl_st;

namespace seganet {

// One connection. The broker's chain of certificates is verified in the handshake; that the
// certificate is for the broker's host is NOT: whoever owns this checks PeerCertificate() (Node's
// tls.checkServerIdentity) before the first Write. No session is resumed and nothing renegotiated.
// New tickets and keys of TLS 1.3 are taken in passing, by Read.
//
// After Start and every Receive, Read, Write and Close there may be something pending(), in
// kFailed too: the alert that tells the broker why.
//
// The end of the network is the owner's to see: in kHandshake and kOpen the broker has then gone
// without a word (Node: ECONNRESET), and no half of a record is ever read.
//
// Thread safety: one thread at a time. It empties that thread's queue of OpenSSL errors.
class TlsClient {
 public:
  enum class State : uint8_t {
    kHandshake,
    kOpen,
    kEnded,   // by the broker's close_notify
    kFailed,  // failure() tells why
  };

  // REQUIRES: a context that TlsContext::Make made.
  explicit TlsClient(std::shared_ptr<TlsContext> context);
  ~TlsClient();
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  // Makes the ClientHello. Once, before anything else.
  void Start();

  // Bytes of the network, cut anywhere; goes on with the handshake. Once it is kOpen, Read until it
  // gives 0: data may come with the end of the handshake, and only Read sees alerts and the end.
  // What is not read is kept, so do not receive without reading.
  void Receive(std::span<const uint8_t> bytes);

  State state() const { return state_; }

  // Decrypted bytes, as many as there are and fit; 0 = none now, or state() is not kOpen any more.
  size_t Read(std::span<uint8_t> into);

  // Encrypts all of it into pending(), in records of 16 KiB and a last one. REQUIRES: kOpen, and no
  // Close before; else nothing happens.
  void Write(std::string_view plain);

  // What is to go to the network, until the next call of anything but this.
  std::string_view pending() const;
  // So many of the pending bytes have gone. REQUIRES: no more than there are.
  void Sent(size_t bytes);

  // Says close_notify (RFC 8446 6.1). Data of the broker can still be read. Idempotent; nothing
  // happens where no connection was made.
  void Close();

  const TlsFailure& failure() const { return failure_; }

  // Of the broker, DER; empty before kOpen.
  std::string PeerCertificate() const;
  std::string protocol() const;  // "TLSv1.3"; empty before kOpen
  std::string alpn() const;      // what the broker chose; empty = nothing

 private:
  void Handshake();
  // After a call of OpenSSL that did not do all.
  void Look(int result);
  void Fail();

  const std::shared_ptr<TlsContext> context_;
  ssl_st* ssl_ = nullptr;
  bio_st* in_ = nullptr;   // of ssl_
  bio_st* out_ = nullptr;  // of ssl_
  State state_ = State::kHandshake;
  bool opened_ = false;
  bool closed_ = false;  // by us
  TlsFailure failure_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_UPLINK_TLS_CLIENT_H_
