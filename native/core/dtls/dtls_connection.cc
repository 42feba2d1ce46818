#include "core/dtls/dtls_connection.h"

#include <sys/time.h>

#include <utility>

#include "core/base/require.h"
#include "core/tls/openssl.h"

#ifdef SEGANET_OPENSSL

namespace seganet {

DtlsConnection::DtlsConnection(std::shared_ptr<const DtlsContext> context, DatagramPipe* pipe)
    : context_(std::move(context)), pipe_(pipe) {
  SEGANET_REQUIRE(context_ != nullptr && pipe_ != nullptr);
}

DtlsConnection::~DtlsConnection() {
  // Without this mark, OpenSSL would not resume the session by its id.
  if (state_ == State::kOpen || state_ == State::kEnded) {
    SSL_set_shutdown(ssl_, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
  }
  SSL_free(ssl_);
}

void DtlsConnection::Start(std::span<const uint8_t> hello) {
  SEGANET_REQUIRE(ssl_ == nullptr);
  ERR_clear_error();
  state_ = State::kFailed;
  ssl_ = SSL_new(context_->raw_);
  BIO* const bio = ssl_ == nullptr ? nullptr : MakeDatagramBio(context_->method_, pipe_);
  if (bio == nullptr) return;
  SSL_set_bio(ssl_, bio, bio);
  SSL_set_accept_state(ssl_);
  BIO_ADDR* const unused = BIO_ADDR_new();
  if (unused == nullptr) return;
  // Continues after the stateless exchange that DtlsServer has done.
  pipe_->arrived = hello;
  const int listened = DTLSv1_listen(ssl_, unused);
  BIO_ADDR_free(unused);
  pipe_->arrived = {};
  if (listened != 1) return ERR_clear_error();
  state_ = State::kHandshake;
  Handshake();
}

void DtlsConnection::Receive(std::span<const uint8_t> datagram) {
  if (state_ != State::kHandshake && state_ != State::kOpen) return;
  NeedBuffers();
  pipe_->arrived = datagram;
  if (state_ == State::kHandshake) Handshake();
}

void DtlsConnection::Handshake() {
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_);
  if (result != 1) return CheckResult(result);
  state_ = State::kOpen;
}

size_t DtlsConnection::Read(std::span<uint8_t> into) {
  if (state_ != State::kOpen) return 0;
  NeedBuffers();
  ERR_clear_error();
  size_t bytes = 0;
  const int result = SSL_read_ex(ssl_, into.data(), into.size(), &bytes);
  if (result == 1) return bytes;
  pipe_->arrived = {};
  CheckResult(result);
  return 0;
}

bool DtlsConnection::Write(std::string_view plain) {
  if (state_ != State::kOpen || closed_ || plain.empty()) return false;
  NeedBuffers();
  ERR_clear_error();
  size_t written = 0;
  const bool good = SSL_write_ex(ssl_, plain.data(), plain.size(), &written) == 1;
  ERR_clear_error();
  return good;
}

int64_t DtlsConnection::WaitUs() const {
  timeval left{};
  if (ssl_ == nullptr || state_ != State::kHandshake) return -1;
  if (DTLSv1_get_timeout(ssl_, &left) != 1) return -1;
  return int64_t{left.tv_sec} * 1'000'000 + left.tv_usec;
}

void DtlsConnection::Retransmit() {
  if (state_ != State::kHandshake) return;
  ERR_clear_error();
  if (DTLSv1_handle_timeout(ssl_) < 0) state_ = State::kFailed;
  ERR_clear_error();
}

void DtlsConnection::Close() {
  if (closed_ || state_ != State::kOpen) return;
  closed_ = true;
  NeedBuffers();
  ERR_clear_error();
  SSL_shutdown(ssl_);
  ERR_clear_error();
  state_ = State::kEnded;
}

DtlsProof DtlsConnection::Proof() const {
  SEGANET_REQUIRE(state_ == State::kOpen);
  return context_->ProofOf(ssl_);
}

bool DtlsConnection::resumed() const { return SSL_session_reused(ssl_) == 1; }

void DtlsConnection::FreeBuffers() {
  if (has_buffers_ && state_ == State::kOpen) has_buffers_ = SSL_free_buffers(ssl_) != 1;
}

void DtlsConnection::NeedBuffers() {
  if (!has_buffers_) has_buffers_ = SSL_alloc_buffers(ssl_) == 1;
}

void DtlsConnection::CheckResult(int result) {
  switch (SSL_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ:
      break;
    case SSL_ERROR_ZERO_RETURN:
      state_ = State::kEnded;
      break;
    default:
      state_ = State::kFailed;
  }
  ERR_clear_error();
}

}  // namespace seganet

#endif  // SEGANET_OPENSSL
