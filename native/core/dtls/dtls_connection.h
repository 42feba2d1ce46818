// The server's end of one DTLS 1.2 connection, without a socket.
#ifndef SEGANET_CORE_DTLS_DTLS_CONNECTION_H_
#define SEGANET_CORE_DTLS_DTLS_CONNECTION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "core/dtls/datagram_bio.h"
#include "core/dtls/dtls_context.h"

namespace seganet {

// Damaged, forged and replayed records are ignored (RFC 6347 4.1.2.6, 4.1.2.7); only an alert, a
// fault of the handshake or Close ends a connection.
//
// Retransmissions of the handshake use OpenSSL's clock, the system's: while that is set back, the
// device's own retransmissions drive the handshake.
//
// Thread safety: one thread at a time. Calls clear that thread's queue of OpenSSL errors.
class DtlsConnection {
 public:
  enum class State : uint8_t { kHandshake, kOpen, kEnded, kFailed };

  // `pipe` sends this connection's datagrams, during calls of these functions only.
  // REQUIRES: pipe outlives the connection.
  DtlsConnection(std::shared_ptr<const DtlsContext> context, DatagramPipe* pipe);
  ~DtlsConnection();
  DtlsConnection(const DtlsConnection&) = delete;
  DtlsConnection& operator=(const DtlsConnection&) = delete;

  // Takes a ClientHello with a valid cookie. Call it once, before all other functions.
  void Start(std::span<const uint8_t> hello);

  // Takes a datagram and continues the handshake. In kOpen, call Read until it returns 0.
  void Receive(std::span<const uint8_t> datagram);

  // Decrypts the content of the next record; 0 = none is left, or state() is no longer kOpen.
  size_t Read(std::span<uint8_t> into);

  // Sends a record. False if it was not sent: state() is not kOpen, or it is too long.
  bool Write(std::string_view plain);

  State state() const { return state_; }

  // Returns the time until Retransmit() has work, us; -1 = never.
  int64_t WaitUs() const;
  // Retransmits the last messages of the handshake if they are overdue.
  void Retransmit();

  // Sends close_notify. Idempotent; no effect before kOpen.
  void Close();

  // Returns what the handshake proved. REQUIRES: state() is kOpen.
  DtlsProof Proof() const;
  // True if the handshake resumed a session. REQUIRES: as Proof.
  bool resumed() const;

  // Frees the buffers of records until they are needed again: 17 KiB, most of an idle connection's
  // memory.
  void FreeBuffers();

 private:
  void Handshake();
  // Call it before all that may write: OpenSSL 3.0 requires the buffers there.
  void NeedBuffers();
  void CheckResult(int result);

  const std::shared_ptr<const DtlsContext> context_;
  DatagramPipe* const pipe_;
  ssl_st* ssl_ = nullptr;
  State state_ = State::kHandshake;
  bool closed_ = false;
  bool has_buffers_ = true;
};

}  // namespace seganet

#endif  // SEGANET_CORE_DTLS_DTLS_CONNECTION_H_
